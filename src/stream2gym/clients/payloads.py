"""The values of messages, byte by byte, for each published producer type. Pure generators.

    STANDARD  two-digit host number, six-digit counter from 000000, then letters ``a``: six of them, or as many
              as the wanted size takes; for ever
    SFST      the whole file, ``rrrr `` and a counter from 1; the file is read again for each message
    MFST      each file of a folder in sorted order: content, `` Topic: TOPIC File: N``, N from 1
    ELTT      each line of a file with its newline

In the warm-up the letters of STANDARD are ``w``.

SFST and MFST of a ``.xml`` file: a leading space is added, and all numbers of a line become one random number
from 1 to 999, another one for each line and message.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

from stream2gym.clients.config import ProducerConfig, Sizes
from stream2gym.errors import BadInput, Mistake

LARGEST = 1_000_000  # a drawn size that no broker's default would take is cut to this
_NUMBER = re.compile(rb"\d+")


def values(
    config: ProducerConfig, topics: Iterator[str], rng: Random, *, is_warmup: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Topic and value of each message; the caller ends the series after ``messages``.

    In the warm-up a file or folder is read again and again.
    """
    if config.type == "STANDARD":
        letter = b"w" if is_warmup else b"a"
        return zip(topics, standard(config.number, config.size, rng, letter), strict=False)
    path = Path(config.file or "")
    passes = 1 if config.passes is None else config.passes
    if is_warmup and config.type in ("ELTT", "MFST"):
        return _read_again_and_again(config, path, topics, rng)
    if config.type == "SFST":
        return zip(topics, sfst(_file(path), rng), strict=False)
    if config.type == "ELTT":
        return zip(topics, eltt(_file(path), passes), strict=False)
    return mfst(path, passes, topics, rng)


def _read_again_and_again(
    config: ProducerConfig, path: Path, topics: Iterator[str], rng: Random
) -> Iterator[tuple[str, bytes]]:
    """Passes over a file or folder without end; nothing if it is empty."""
    while True:
        one_pass = (
            zip(topics, eltt(_file(path), 1), strict=False) if config.type == "ELTT" else mfst(path, 1, topics, rng)
        )
        first = next(one_pass, None)
        if first is None:
            return
        yield first
        yield from one_pass


def standard(number: int, size: Sizes | None, rng: Random, letter: bytes = b"a") -> Iterator[bytes]:
    host = b"%02d" % number
    if size is None:
        for n in itertools.count():
            yield b"%b%06d%b" % (host, n, letter * 6)
    elif size.kind == "fixed":
        length = size.mean or 0
        padding = letter * length
        for n in itertools.count():
            yield (b"%b%06d%b" % (host, n, padding))[:length]
    else:
        for n, length in enumerate(sizes(size, rng)):
            yield (b"%b%06d" % (host, n)).ljust(length, letter)[:length]


def sizes(size: Sizes, rng: Random) -> Iterator[int]:
    """Random sizes of a distribution, limited to ``low`` and ``high``."""
    low, high = size.low or 0, LARGEST if size.high is None else size.high
    mean, deviation, shape = size.mean or 0, size.deviation or 0, size.shape
    while True:
        if size.kind == "uniform":
            drawn: float = rng.randint(low, high)
        elif size.kind == "normal":
            drawn = round(rng.gauss(mean, deviation))
        elif size.kind == "pareto":
            drawn = round(mean * (shape - 1) / shape * rng.paretovariate(shape))
        else:
            drawn = mean
        yield int(min(max(drawn, low), high))


def sfst(path: Path, rng: Random) -> Iterator[bytes]:
    for n in itertools.count(1):
        yield content(path, rng) + b"rrrr %d" % n


def mfst(folder: Path, passes: int, topics: Iterator[str], rng: Random) -> Iterator[tuple[str, bytes]]:
    if not folder.is_dir():
        raise BadInput(Mistake("file", f"{folder} is not a folder", "MFST sends every file of a folder"))
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return (
        (topic, content(path, rng) + b" Topic: %b File: %d" % (topic.encode(), n))
        for _ in range(passes)
        for topic, (n, path) in zip(topics, enumerate(files, 1), strict=False)
    )


def eltt(path: Path, passes: int) -> Iterator[bytes]:
    for _ in range(passes):
        with path.open("rb") as file:
            yield from file


def content(path: Path, rng: Random) -> bytes:
    """A file as SFST and MFST send it."""
    data = path.read_bytes()
    if path.suffix != ".xml":
        return data
    lines = (_NUMBER.sub(b"%d" % rng.randint(1, 999), line) for line in data.splitlines(keepends=True))
    return b" " + b"".join(lines)


def _file(path: Path) -> Path:
    try:
        path.open("rb").close()
    except OSError as error:
        raise BadInput(Mistake("file", f"{path} cannot be read: {error.strerror}")) from error
    return path
