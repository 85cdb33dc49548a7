"""The plug-in for pytest: the fixture ``gym``, and experiment files ``s2g_*.yaml`` as tests. It is in force with
``pytest --s2g``, or with ``s2g = true`` in the settings of pytest.

pytest imports this module in every environment that has stream2gym, so it imports nothing of stream2gym before it is
asked to.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from stream2gym.experiment_tests import ExperimentTest
    from stream2gym.gym import Gym, SharedSession

PATTERN = ("s2g_*.yaml", "s2g_*.yml")
RUNS = "s2g-runs"
_GYM: pytest.StashKey[Gym] = pytest.StashKey()
_SESSION: pytest.StashKey[SharedSession] = pytest.StashKey()
_FAILED: pytest.StashKey[bool] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("stream2gym", "stream2gym: experiments as tests")
    group.addoption("--s2g", action="store_true", help="run tests with the fixture gym, and experiments s2g_*.yaml")
    group.addoption(
        "--s2g-keep",
        choices=("failed", "all"),
        default="failed",
        help="which run folders to keep (default: those of tests that failed)",
    )
    group.addoption("--s2g-runs", metavar="FOLDER", help=f"where run folders go (default: {RUNS} in the root folder)")
    group.addoption(
        "--s2g-set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value of every experiment, such as time=10s",
    )
    parser.addini("s2g", "run stream2gym experiments without --s2g", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "s2g: runs an experiment of stream2gym; skipped without --s2g")


def is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("--s2g") or config.getini("s2g"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that ask for ``gym``, and skip them where experiments are not asked for."""
    for item in items:
        if "gym" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.s2g)
            if not is_on(config):
                item.add_marker(pytest.mark.skip(reason="runs an experiment: needs --s2g"))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if is_on(parent.config) and any(file_path.match(pattern) for pattern in PATTERN):
        return ExperimentFile.from_parent(parent, path=file_path)
    return None


class ExperimentFile(pytest.File):
    """A file ``s2g_*.yaml``, with a test for each point."""

    def collect(self) -> Iterable[pytest.Item]:
        from stream2gym.errors import BadInput
        from stream2gym.experiment_tests import read_tests

        try:
            found = read_tests(self.path)
        except BadInput as error:
            raise self.CollectError(str(error)) from None
        return [ExperimentItem.from_parent(self, name=one.name, test=one) for one in found]


class ExperimentItem(pytest.Item):
    """An experiment that passes if its verdict is pass."""

    def __init__(self, *, test: ExperimentTest, **rest: Any) -> None:
        super().__init__(**rest)
        self._test = test
        self.add_marker(pytest.mark.s2g)

    def setup(self) -> None:
        self.stash[_GYM] = make_gym(self)

    def runtest(self) -> None:
        gym = self.stash[_GYM]
        test = self._test
        result = gym.run(test.experiment, set=test.settings, time=test.time, seed=test.seed)
        self.user_properties += gym.list_figures()
        if not result.passed:
            raise ExperimentDidNotPass(gym.explain_failures())

    def teardown(self) -> None:
        tidy(self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is wrong with the experiment or with the run, without our own code around it."""
        from stream2gym.errors import S2gError

        if isinstance(excinfo.value, ExperimentDidNotPass | S2gError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name}: {self.name}"


class ExperimentDidNotPass(Exception):
    """A run whose verdict is fail or unknown."""


@pytest.fixture
def gym(request: pytest.FixtureRequest) -> Iterator[Gym]:
    """Runs experiments: ``gym.run("pipeline.yaml", set={...})`` returns a result with ``passed``."""
    made = make_gym(request.node)
    request.node.stash[_GYM] = made
    yield made
    request.node.user_properties += made.list_figures()
    tidy(request.node)


def make_gym(item: pytest.Item) -> Gym:
    from stream2gym.gym import Gym, SharedSession
    from stream2gym.spec.readers.overrides import pairs

    config = item.config
    session = config.stash.setdefault(_SESSION, SharedSession())
    given = config.getoption("--s2g-runs")
    runs = Path(given) if given else config.rootpath / RUNS
    return Gym(item.path.parent, runs, session, pairs(config.getoption("--s2g-set")))


def tidy(item: pytest.Item) -> None:
    """Remove the run folders of a test that passed."""
    gym = item.stash.get(_GYM, None)
    if gym is not None and not item.stash.get(_FAILED, False) and item.config.getoption("--s2g-keep") == "failed":
        gym.remove_runs()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note that a test failed, and add to its report why its runs did not pass."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
        gym = item.stash.get(_GYM, None)
        if gym is not None and call.when == "call" and not isinstance(item, ExperimentItem):
            explained = gym.explain_failures()
            if explained:
                report.sections.append(("stream2gym", explained))
    return report


def pytest_unconfigure(config: pytest.Config) -> None:
    session = config.stash.get(_SESSION, None)
    if session is not None:
        session.close()
