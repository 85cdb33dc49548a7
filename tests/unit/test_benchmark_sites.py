"""The experiment of many sites that benchmarks use."""

from __future__ import annotations

from pathlib import Path

from benchmarks.sites import write_sites
from stream2gym.prepare import prepare_experiment


def test_every_site_has_a_broker_a_producer_with_its_buffer_and_a_consumer(tmp_path: Path) -> None:
    found = prepare_experiment(str(write_sites(tmp_path, 4, buffer="32 MB"))).experiment
    assert {part.on for part in found.brokers} == {"h1", "h2", "h3", "h4"}
    assert {part.on for part in found.producers} == {part.on for part in found.consumers} == {"h1", "h2", "h3", "h4"}
    assert {float(producer.buffer or 0) for producer in found.producers} == {32e6}
