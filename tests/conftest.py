"""Fixtures that several suites share."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.users import User, myself, ordinary_user

pytest_plugins = ["tests.support.failures", "tests.support.browser", "tests.support.shared_analysis"]


@pytest.fixture(scope="session")
def users() -> Iterator[dict[str, User]]:
    """Root (or whoever runs the tests) and an ordinary user."""
    folder = Path(tempfile.mkdtemp(prefix="s2g-user-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield {"root": myself(), "ordinary": ordinary_user(folder)}
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["root", "ordinary"])
def user(request: pytest.FixtureRequest, users: dict[str, User]) -> User:
    """Each test once as root and once as an ordinary user."""
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("not root")
    return users[request.param]


# Real runs that neither measure time closely nor look at all that the machine holds: others may run beside them.
# Every other file of the suites that start real programs runs alone, and so does a test with the mark ``alone``.
BESIDE_OTHERS = {
    "test_analysis", "test_analysis_cluster", "test_analysis_queues", "test_analysis_session", "test_browser",
    "test_cases", "test_ci_examples_run", "test_clients", "test_clock", "test_conformance", "test_delivery_verdicts",
    "test_docs_site",
    "test_engine_plugin", "test_examples_detection", "test_examples_engines", "test_examples_exercises",
    "test_examples_run", "test_kafka_streams_faults", "test_published_engines",
    "test_examples_sites", "test_experiments_side_by_side", "test_extend_page", "test_falling_behind", "test_flink",
    "test_flink_python",
    "test_flink_trouble", "test_histories", "test_hostile_folder", "test_into_a_run", "test_java_compiler_real",
    "test_jobs_in_a_run", "test_kafka_kinds", "test_kafka_streams", "test_kafka_streams_trouble",
    "test_learning_pages", "test_mischief", "test_moved_engine", "test_notebook", "test_observed_programs",
    "test_own_pipeline_loss", "test_packaging", "test_private_folder", "test_process_trees", "test_program_ends",
    "test_program_environment", "test_program_groups", "test_proof", "test_published", "test_published_military",
    "test_rabbitmq", "test_rabbitmq_cluster", "test_recorded_fault_costs", "test_recorded_run_spark",
    "test_recorder", "test_refused_parts", "test_runs", "test_sink_fence", "test_software", "test_spark",
    "test_spark_trouble", "test_stores", "test_streams_launcher", "test_sweep", "test_trace_cases", "test_traces",
    "test_trees", "test_trouble", "test_unenforced_limit", "test_warmup", "test_warmup_analysis", "test_wheel",
    "test_wire", "test_wire_engines", "test_wire_java", "test_wire_verdict", "test_witness",
}  # fmt: skip
TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say which tests run alone."""
    for item in items:
        suite = item.path.relative_to(TESTS).parts[0]
        if suite != "unit" and item.path.stem not in BESIDE_OTHERS:
            item.add_marker(pytest.mark.alone)
