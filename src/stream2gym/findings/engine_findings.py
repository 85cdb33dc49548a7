"""What the streaming queries of engines did, in sentences. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from stream2gym.analysis.result_tables import Analysis
from stream2gym.findings.finding import Finding, Phrase, Words, compose, count, join_words, make_sentence, name, span

QUERIES, DELIVERY = "table-spark-queries", "delivery"
_SOURCE = "spark "
_MOST_QUERIES = 2


def tell_engines(analysis: Analysis) -> Iterator[Finding]:
    """How many rows each streaming query processed, and how many results consumers received."""
    numbers: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point in analysis.gauges:
        if point.object.startswith(_SOURCE):
            numbers[point.object.removeprefix(_SOURCE)][point.metric].append(point.value)
    busy = {query: found for query, found in numbers.items() if sum(found["rows"]) > 0}
    if not busy:
        if numbers:
            yield make_sentence(compose("no streaming query processed a row"))
        return
    ranked = sorted(busy, key=lambda query: -sum(busy[query]["rows"]))
    told = [_describe_query(query, busy[query]) for query in ranked[:_MOST_QUERIES]]
    if len(ranked) > _MOST_QUERIES:
        told.append((count(len(ranked) - _MOST_QUERIES, QUERIES), *compose(" more queries processed rows")))
    yield make_sentence((*join_words(told, ", ", ", and "), *_describe_results(analysis)))


def _describe_query(query: str, numbers: dict[str, list[float]]) -> Words:
    rows, batches = sum(numbers["rows"]), len(numbers["batch_id"])
    words = compose(
        "{query} processed {rows} rows in {batches}",
        query=name(query),
        rows=count(rows, QUERIES),
        batches=Phrase(f"{batches:,} {'batch' if batches == 1 else 'batches'}", QUERIES),
    )
    if numbers["batch_ms"] and batches > 1:
        words += compose(", the longest of {time}", time=span(max(numbers["batch_ms"]) / 1e3, QUERIES))
    return words


def _describe_results(analysis: Analysis) -> Words:
    foreign = sum(row.foreign for row in analysis.received)
    if not foreign:
        return ()
    return compose("; consumers received {results} results", results=count(foreign, DELIVERY))
