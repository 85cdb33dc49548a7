"""A run beside a CPU hog: passes where the bound is far, is unknown where it is near, is never wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hog import FAR, IMPOSSIBLE, hog, is_wrong, judge_all, near_bounds, run_once

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_a_hog_makes_near_bounds_unknown_and_nothing_wrong(tmp_path: Path) -> None:
    quiet = run_once(tmp_path / "quiet")
    if quiet.fidelity.good is not True:
        pytest.skip(f"the machine is busy without a hog: {quiet.fidelity.reason}")
    near = near_bounds(quiet)
    true = judge_all(tmp_path / "quiet", [*FAR, *near, IMPOSSIBLE])
    with hog():
        found = run_once(tmp_path / "beside")
    beside = judge_all(tmp_path / "beside", [*FAR, *near, IMPOSSIBLE])

    assert found.fidelity.good is False
    assert any("waited for a CPU" in reason for span in found.fidelity.suspect or () for reason in span.reasons)
    assert "the machine was the bottleneck" in found.fidelity.remedy
    assert {text: beside[text].outcome for text in FAR} == dict.fromkeys(FAR, "pass")
    assert beside[IMPOSSIBLE].outcome == "fail"
    assert "unknown" in {beside[text].outcome for text in near}
    for text in near:
        assert beside[text].outcome in ("pass", "unknown"), beside[text]
        assert not is_wrong(true[text], beside[text])
