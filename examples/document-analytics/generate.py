"""Makes scans.jsonl and uploads.jsonl: letters, invoices and articles, the same for the same seed.

The id says what a document really is (``mail-7``); nothing but the check looks at it.
"""

import json
import random
from pathlib import Path

COMMON = "the a of to and in for with on at by from we you it is was will not all new more before after"
WORDS = {
    "mails": "dear regards meeting tomorrow please reply thanks answer question invoice calendar room",
    "invoices": "pieces screws paint delivery invoice discount customer payment days boxes cable lamp",
    "articles": "city council river bridge votes mayor storm harvest team season museum prices payment",
}
PEOPLE = ("ada", "ben", "cleo", "dan", "eve", "finn")


def prose(chance: random.Random, kind: str, low: int, high: int) -> str:
    pools = COMMON.split(), WORDS[kind].split()
    words = [chance.choice(chance.choice(pools)) for _ in range(chance.randint(low, high))]
    return " ".join(words).capitalize() + "."


def mail(chance: random.Random) -> str:
    text = f"From: {chance.choice(PEOPLE)}@example.org\n\n{prose(chance, 'mails', 8, 40)}"
    if chance.random() < 0.3:  # a mail about an invoice is no invoice
        text += f"\n> Invoice no. {chance.randint(1, 999)}\n> Total: {chance.randint(5, 500)}.00 EUR"
    return text


def invoice(chance: random.Random) -> str:
    number, cents = chance.randint(1, 999), chance.randint(500, 90_000)
    goods = prose(chance, "invoices", 4, 15)
    return f"Invoice no. {number}\n{goods}\nTotal: {cents // 100}.{cents % 100:02} EUR"


def article(chance: random.Random) -> str:
    text = f"{prose(chance, 'articles', 3, 6)}\n{prose(chance, 'articles', 30, 90)}"
    if chance.random() < 0.2:  # an article may quote a mail
        text += f"\nFrom: {chance.choice(PEOPLE)}@example.org"
    return text


def main() -> None:
    chance = random.Random(11)
    makers = {"mail": mail, "invoice": invoice, "article": article}
    for name, likely in (("scans", (2, 5, 1)), ("uploads", (4, 1, 4))):
        lines = []
        for number in range(150):
            kind = chance.choices(list(makers), likely)[0]
            document = {"id": f"{kind}-{name}-{number}", "text": makers[kind](chance)}
            lines.append(json.dumps(document) + "\n")
        (Path(__file__).parent / f"{name}.jsonl").write_text("".join(lines))


if __name__ == "__main__":
    main()
