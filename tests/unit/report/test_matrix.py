"""Who got what from whom: every message between a producer and a group has exactly one fate."""

from __future__ import annotations

from stream2gym.analysis.latency import add_late
from stream2gym.analysis.result_tables import Analysis, AuditRow, SentRow
from stream2gym.report.sections.delivery_matrix import count_deliveries, make_delivery_matrix


def two_sites() -> Analysis:
    """Site a loses, b is late and gives up; nobody watched what b's messages did at the group ``dark``."""
    return Analysis(
        "run", 10.0, 1.0,
        sent=(
            SentRow("in", 0, "a", sent=100, acknowledged=90, unconfirmed=0, failed=4, unanswered=6),
            SentRow("in", 0, "b", sent=50, acknowledged=50),
            SentRow("in", -1, "b", sent=7, failed=7),
            SentRow("other", 0, "b", sent=9, failed=9),
        ),
        audit=(
            AuditRow("in", 0, "a", "g", expected=90, received=83, lost=5, in_flight=5, unacknowledged_received=3,
                     late=2),
            AuditRow("in", 0, "b", "g", expected=50, received=50, late=50),
            AuditRow("in", -1, "b", "g", received=1, unacknowledged_received=1),
            AuditRow("in", 0, "b", "dark", unknown=50, why_unknown="a program"),
        ),
    )  # fmt: skip


def test_the_fates_of_a_pair_add_up_to_what_was_sent_to_it() -> None:
    found = count_deliveries(two_sites())
    a, b = found["a", "g"], found["b", "g"]
    assert (a.in_time, a.late, a.in_flight, a.given_up, a.lost) == (81, 2, 5, 7, 5)
    assert (b.in_time, b.late, b.in_flight, b.given_up, b.lost) == (1, 50, 0, 6, 0)
    assert a.in_time + a.late + a.in_flight + a.given_up + a.lost == 100
    assert b.in_time + b.late + b.given_up == 57, "what went to a topic that the group does not read is not owed"


def test_the_matrix_leaves_open_what_nobody_observed_or_expected() -> None:
    (matrix,) = make_delivery_matrix(two_sites())
    assert (matrix.rows, matrix.columns) == (("a", "b"), ("dark", "g"))
    assert matrix.share(0, 1) == 83 / 100
    assert matrix.share(1, 1) == 51 / 57
    assert matrix.share(0, 0) is None
    assert matrix.share(1, 0) is None


def test_sites_stand_in_the_order_of_their_numbers() -> None:
    rows = tuple(AuditRow("in", 0, f"radio-{n}", "g", 1, 1) for n in (10, 9, 1))
    (matrix,) = make_delivery_matrix(Analysis("run", 1.0, 1.0, audit=rows))
    assert matrix.rows == ("radio-1", "radio-9", "radio-10")


def test_one_producer_and_one_group_need_no_matrix() -> None:
    analysis = Analysis("run", 1.0, 1.0, audit=(AuditRow("in", 0, "a", "g", 5, 5),))
    assert make_delivery_matrix(analysis) == []


def test_of_too_many_sites_the_worst_are_shown() -> None:
    rows = [AuditRow("in", 0, f"p{n}", "g", 10, 10 - n % 2, n % 2) for n in range(90)]
    (matrix,) = make_delivery_matrix(Analysis("run", 1.0, 1.0, audit=tuple(rows)))
    assert len(matrix.rows) == 50
    assert {f"p{n}" for n in range(1, 90, 2)} < set(matrix.rows)
    assert matrix.note.startswith("The 50 worst")


def test_what_arrived_late_without_an_acknowledgement_is_counted_where_it_is_audited() -> None:
    audit = (AuditRow("in", 0, "a", "g", received=9), AuditRow("in", -1, "a", "g", received=2))
    late = {("in", 0, "a", "g"): 3, ("in", 5, "a", "g"): 2, ("in", 0, "nobody", "g"): 4}
    assert [row.late for row in add_late(audit, late)] == [3, 2]
