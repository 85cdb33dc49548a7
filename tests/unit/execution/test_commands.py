"""The commands around a run: options, lists, logs, what is shown."""

from __future__ import annotations

import io
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from stream2gym.api import Result
from stream2gym.cli import clean, logs, run, run_views, runs
from stream2gym.cli.main import COMMANDS, main
from stream2gym.errors import BadInput, StartFailed
from stream2gym.execution import event_words
from stream2gym.execution.view import LoadProgress
from stream2gym.judge.verdict import Judgement, Verdict, save_verdict
from stream2gym.record.folder import RunFolder, find_run
from stream2gym.spec.readers.overrides import pairs


def folder(base: Path, name: str) -> RunFolder:
    made = RunFolder.create(name, seed=1, base=base)
    made.set_state("done")
    made.release()
    return made


def test_a_bare_time_is_seconds_as_published() -> None:
    assert run.read_time("50") == "50 s"
    assert run.read_time("1.5") == "1.5 s"
    assert run.read_time("2 min") == "2 min"
    with pytest.raises(BadInput, match=r"--time: not a duration: 'soon'"):
        run.read_time("soon")


def test_a_set_needs_a_key_and_a_value() -> None:
    assert pairs(["producers.gen.rate=50/s"]) == {"producers.gen.rate": "50/s"}
    assert pairs(["expect=[lost == 0]"]) == {"expect": "[lost == 0]"}
    for wrong in ("time", "=5"):
        with pytest.raises(BadInput, match="is not KEY=VALUE"):
            pairs([wrong])


def test_an_unknown_command_names_the_nearest_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu", "hello"]) == 2
    assert capsys.readouterr().err == (
        "s2g: there is no command 'rnu' (did you mean 'run'? 's2g --help' lists all commands)\n"
    )


def test_without_a_command_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "s2g run hello" in capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"usage: s2g {command}" in shown
    assert "EXPERIMENT" not in shown or "bundled example" in shown


def test_a_run_folder_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be made: Not a directory"):
        RunFolder.create("x", seed=1, out=tmp_path / "file" / "run")


def test_the_first_run_is_what_to_begin_with(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="begin with: s2g run hello"):
        find_run("latest", tmp_path)
    folder(tmp_path, "pipe")
    with pytest.raises(BadInput, match=r"there is no such run.*known: pipe-"):
        find_run("other", tmp_path)


def test_ages_are_read_as_people_write_them() -> None:
    assert clean.parse_age("7d") == timedelta(days=7)
    assert clean.parse_age("2 w") == timedelta(days=14)
    assert clean.parse_age("12h") == timedelta(hours=12)
    with pytest.raises(BadInput):
        clean.parse_age("soon")


def test_clean_keeps_the_newest_and_what_is_young(tmp_path: Path) -> None:
    made = [folder(tmp_path, f"n{number}") for number in range(3)]
    now = datetime.now().astimezone()
    assert clean.choose(made, 1, None, now) == made[1:]
    assert clean.choose(made, 0, timedelta(hours=1), now) == []
    assert clean.choose(made, 0, timedelta(hours=1), now + timedelta(days=1)) == made


def test_clean_touches_only_runs_and_none_that_is_running(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = folder(tmp_path, "old")
    running = RunFolder.create("running", seed=1, base=tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    parser = __import__("argparse").ArgumentParser()
    clean.add(parser)
    assert clean.run(parser.parse_args(["--in", str(tmp_path), "--keep", "0"])) == 0
    running.release()
    assert capsys.readouterr().out == f"removed {old.path}\n"
    assert running.path.exists()
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_logs_are_found_by_component_host_or_their_own_name() -> None:
    known = [Path(name) for name in ("h1.gen#1.log", "h1.gen#2.log", "h2.broker-h2.log")]
    assert logs.choose(known, "gen") == known[:2]
    assert logs.choose(known, "gen#2") == known[1:2]
    assert logs.choose(known, "h1") == known[:2]
    assert logs.choose(known, "h2.broker-h2") == known[2:]
    with pytest.raises(BadInput, match="broker-h2"):
        logs.choose(known, "broker-h3")


def test_logs_of_earlier_runs_named_their_instances_with_a_dot() -> None:
    known = [Path(name) for name in ("h1.gen.1.log", "h1.gen.2.log")]
    assert logs.choose(known, "gen") == logs.choose(known, "gen", ["gen"]) == known
    assert logs.choose(known, "gen.2", ["gen"]) == known[1:]


def test_logs_of_a_component_are_not_those_of_one_whose_name_looks_like_its_instance() -> None:
    known = [Path(name) for name in ("h1.a#1.log", "h1.a#2.log", "h1.a.1.log")]
    assert logs.choose(known, "a", ["a", "a.1"]) == known[:2]
    assert logs.choose(known, "a.1", ["a", "a.1"]) == known[2:]


def test_runs_show_state_and_verdict(tmp_path: Path) -> None:
    made = folder(tmp_path, "mine")
    assert runs.describe(made)["verdict"] == ""
    save_verdict(made, Verdict("fail"))
    assert runs.describe(made)["verdict"] == "fail"
    assert runs.describe(made)["state"] == "done"


def result(tmp_path: Path, state: str, judged: Verdict, error: StartFailed | None = None) -> Result:
    return Result(RunFolder(tmp_path), state, judged, error=error)


def test_exit_codes_follow_the_verdict_unless_the_run_failed_or_was_interrupted(tmp_path: Path) -> None:
    assert [result(tmp_path, "done", Verdict(word)).exit_code for word in ("pass", "fail", "unknown")] == [
        0,
        1,
        3,
    ]
    assert result(tmp_path, "failed", Verdict("unknown"), StartFailed("x")).exit_code == 3
    assert result(tmp_path, "interrupted", Verdict("pass")).exit_code == 130


def test_reasons_name_what_failed_and_what_nobody_knows(tmp_path: Path) -> None:
    judgements = (Judgement("lost == 0", "fail", 3, "3"), Judgement("received > 1", "pass", 9, "9"))
    judged = Verdict("fail", judgements, failures=("gen died",), doubts=("a doubt",))
    assert result(tmp_path, "done", judged).reasons == ("gen died", "lost == 0: 3", "a doubt")


def test_what_happens_is_shown_in_plain_lines_elsewhere() -> None:
    out = io.StringIO()
    view = run_views.Plain(out)
    view.phase("load")
    view.event({"event": "died", "component": "gen", "host": "h1", "how": "exit code 7"})
    view.event({"event": "started", "component": "gen", "host": "h1"})
    shown = [line.split("] ", 1)[1] for line in out.getvalue().splitlines()]
    assert shown == ["load", "gen on h1 died: exit code 7"]


def test_numbers_are_short() -> None:
    text = event_words.shown_progress(LoadProgress(sent=1500, acked=1400, received=2800, lag=3))
    assert text == "sent 1,500  acknowledged 1,400  received 2,800  behind 3"
