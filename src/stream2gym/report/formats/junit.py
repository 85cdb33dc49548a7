"""The verdict on a run as JUnit XML, which CI systems show: expectations are test cases, figures are properties."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from stream2gym.judge.compare import compare
from stream2gym.judge.verdict import Judgement, Verdict
from stream2gym.report.facts import Facts

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
DEATHS, COURSE = "nothing dies unasked", "the run goes through"


def make_junit(facts: Facts) -> str:
    """The text of the file. A failed expectation is a failure, an unknown one an error."""
    verdict = facts.verdict or Verdict("unknown", doubts=("the run has not been judged",))
    suites = Xml.Element("testsuites", name="stream2gym")
    suite = Xml.SubElement(suites, "testsuite", name=_clean(facts.name))
    started = str(facts.info.get("t0_wall") or facts.info.get("created") or "")
    if started:
        suite.set("timestamp", started[:19])
    properties = Xml.SubElement(suite, "properties")
    for name, value in list_figures(facts):
        Xml.SubElement(properties, "property", name=name, value=_clean(value))
    for judgement in verdict.judgements:
        _add_case(suite, facts.name, judgement)
    _add_texts(suite, facts.name, DEATHS, "failure", verdict.failures)
    _add_texts(suite, facts.name, COURSE, "error", verdict.doubts)
    out = Xml.SubElement(suite, "system-out")
    out.text = _clean("\n".join(finding.text for finding in facts.findings))
    for tag in ("tests", "failures", "errors"):
        wanted = {"tests": "testcase", "failures": "testcase/failure", "errors": "testcase/error"}[tag]
        suite.set(tag, str(len(suite.findall(wanted))))
    suite.set("time", f"{facts.analysis.load_s if facts.analysis else 0.0:.3f}")
    Xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suites, "unicode") + "\n"


def list_figures(facts: Facts) -> list[tuple[str, str]]:
    """The run, its seed, and the usual metrics in base units."""
    found = [("run", facts.folder.name), ("seed", str(facts.info.get("seed", "")))]
    if facts.analysis is not None:
        rows = compare([(facts.folder.name, facts.analysis, [dict(event) for event in facts.events])]).rows
        found += [(row.text, f"{row.values[0]:.9g}") for row in rows if row.values[0] is not None]
    return found


def _add_case(suite: Xml.Element, experiment: str, judgement: Judgement) -> None:
    case = Xml.SubElement(suite, "testcase", classname=_clean(experiment), name=_clean(judgement.text))
    if judgement.outcome == "pass":
        return
    tag = "failure" if judgement.outcome == "fail" else "error"
    message = ": ".join(part for part in (judgement.shown, judgement.reason) if part)
    problem = Xml.SubElement(case, tag, message=_clean(message), type=judgement.outcome)
    problem.text = _clean("\n".join(judgement.evidence))


def _add_texts(suite: Xml.Element, experiment: str, name: str, tag: str, texts: tuple[str, ...]) -> None:
    """A test case that fails with the texts; without any it passes."""
    case = Xml.SubElement(suite, "testcase", classname=_clean(experiment), name=name)
    if texts:
        problem = Xml.SubElement(case, tag, message=_clean(texts[0]), type=tag)
        problem.text = _clean("\n".join(texts))


def _clean(text: str) -> str:
    """The text without characters that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text)
