# SPDX-License-Identifier: Apache-2.0
"""lab.sh shadow: comparison of records, rows, printed differences."""

import json

import pytest

from devstack.lab.shadow.command import DifferenceKind, compare
from devstack.lab.shadow.records import DecisionRecords
from rpcapi import context, errors
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.partition_scheduler import PartitionScheduler, SchedulingLimits
from scheduler_svc.scheduling.shadow import ShadowStore
from scheduler_svc.store.memory import MemoryStore
from tests.support import asking
from tests.support.scheduler import hosts
from tests.support.scheduler.replica_views import FILTER_POLICY, FollowingReplicaView
from tests.unit.devstack.lab.shadow.files import best, record, refused, write


@pytest.fixture
def files(tmp_path):
    a_records = [record("r1"), record("r2", best=best(h1=3, h2=1)), record("r3"), refused("r4"), record("r5")]
    b_records = [
        record("r1"),
        record("r2", {"c-1": "h2"}),
        refused("r3", reasons={"ram": 1}),
        refused("r4"),
        record("r6"),
    ]
    return str(write(tmp_path / "a.jsonl", *a_records)), str(write(tmp_path / "b.jsonl", *b_records))


def test_rows_count_every_instance_once(files):
    rows = {row["name"]: row for row in asking.run_json("shadow", *files)}
    assert {name: row["instances"] for name, row in rows.items()} == {
        "same host": 1,
        "another host": 1,
        "refused by A only": 0,
        "refused by B only": 1,
        "refused by both": 1,
        "only in A": 1,
        "only in B": 1,
    }
    assert sum(row["ratio"] for row in rows.values()) == pytest.approx(1)
    assert {row["of_instances"] for row in rows.values()} == {6}
    assert rows["another host"]["own_above_mean_by_a"] == 2
    assert rows["another host"]["scored_by_b"] == 0


def test_first_differences_are_printed_and_all_are_written(files, tmp_path):
    path = tmp_path / "differences.jsonl"
    code, out, _ = asking.run("shadow", *files, "--show", "2", "--differences", str(path))
    assert code == 0
    assert "r2 c-1: another host: A h1, B h2" in out
    assert "r3 c-1: refused by B only, the other chose h1; 1 ram" in out
    assert "r5" not in out
    differences = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(difference["request_id"], difference["kind"]) for difference in differences] == [
        ("r2", "another host"),
        ("r3", "refused by B only"),
        ("r5", "only in A"),
        ("r6", "only in B"),
    ]
    assert differences[0]["a_scores"] == 2


@pytest.mark.parametrize("invalid_index", [0, 1])
def test_invalid_record_is_reported(files, tmp_path, invalid_index):
    paths = list(files)
    paths[invalid_index] = str(write(tmp_path / "wrong", {"request_id": "r"}))
    code, out, err = asking.run("shadow", *paths)
    assert code == 1
    assert "line 1 is not a decision record: it lacks 'outcome'" in err
    assert not out


def test_unwritable_differences_file_is_reported(files):
    code, _, err = asking.run("shadow", *files, "--differences", "/dev/null/no")
    assert code == 1
    assert "cannot be written" in err


def test_exported_records_are_readable_and_a_shadow_agrees_with_its_scheduler(tmp_path):
    # Given one scheduler that claims and one in shadow mode, on equal clusters
    paths = []
    for name, shadowing in (("claiming", False), ("looking", True)):
        store = MemoryStore("p")
        hosts.join(store, {f"h{number}/n": hosts.node() for number in range(3)})
        scheduler = PartitionScheduler(
            ShadowStore(store) if shadowing else store, FollowingReplicaView(store), SchedulingLimits()
        )
        # When both get the same requests
        for number, vcpus in enumerate((2, 99)):
            try:
                call = SelectionCall(
                    context.new("p", "u"), SchedulingRequest(f"req-{number}", {"VCPU": vcpus}), (f"c-{number}",)
                )
                scheduler.select(FILTER_POLICY, call)
            except (errors.NotClaimed, errors.NoValidHost):
                pass
        exported, _ = store.list_decisions()
        lines = [{**document, "request_id": request_id} for request_id, document in exported]
        paths.append(str(write(tmp_path / name, *lines)))
    # Then their records agree
    rows = {row["name"]: row["instances"] for row in asking.run_json("shadow", *paths)}
    assert rows["same host"] == rows["refused by both"] == 1
    assert sum(rows.values()) == 2


@pytest.fixture
def compare_records(tmp_path):
    """Return a function that compares A's records with B's."""

    def compared(a, b):
        with (
            DecisionRecords(write(tmp_path / "a", *a)) as a_records,
            DecisionRecords(write(tmp_path / "b", *b)) as b_records,
        ):
            return list(compare(a_records, b_records))

    return compared


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (record(), record(outcome="shadow"), DifferenceKind.SAME),
        (record(), record(hosts={"c-1": "h2"}), DifferenceKind.ELSEWHERE),
        (refused(), record(), DifferenceKind.REFUSED_BY_A),
        (record(), refused(), DifferenceKind.REFUSED_BY_B),
        (refused(), refused(), DifferenceKind.REFUSED_BY_BOTH),
        (record(), refused(hosts={}), DifferenceKind.REFUSED_BY_B),
        (refused(hosts={}), refused(hosts={}), DifferenceKind.REFUSED_BY_BOTH),
    ],
)
def test_comparison_has_the_kind_of_difference(compare_records, a, b, kind):
    (comparison,) = compare_records([a], [b])
    assert (comparison.kind, comparison.request_id) == (kind, "req-1")


def test_instances_in_one_record_only_are_reported(compare_records):
    comparisons = compare_records(
        [record("req-1"), record("req-2")], [record("req-2"), record("req-3", {"c-7": "h1", "c-8": "h1"})]
    )
    assert [(comparison.kind, comparison.request_id, comparison.consumer) for comparison in comparisons] == [
        (DifferenceKind.ONLY_IN_A, "req-1", "c-1"),
        (DifferenceKind.SAME, "req-2", "c-1"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-7"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-8"),
    ]
    comparisons = compare_records(
        [record(hosts={"c-1": "h1", "c-2": "h1"})], [record(hosts={"c-2": "h1", "c-3": "h1"})]
    )
    assert {comparison.consumer: comparison.kind for comparison in comparisons} == {
        "c-1": DifferenceKind.ONLY_IN_A,
        "c-2": DifferenceKind.SAME,
        "c-3": DifferenceKind.ONLY_IN_B,
    }


def test_score_margins_of_both_sides_are_reported(compare_records):
    a = record(best=best(h1=3.0, h2=2.5))
    (comparison,) = compare_records([a], [record(hosts={"c-1": "h2"}, best=best(h2=1.0, h1=1.0))])
    assert (comparison.a_scores, comparison.b_scores) == (pytest.approx(0.5), 0)
    assert "A scores its own +0.500 beside B's (ram +0.500)" in comparison.why
    assert "B scores both alike" in comparison.why
    assert comparison.sentence().startswith("req-1 c-1: another host: A h1, B h2; ")


def test_missing_scores_are_reported(compare_records):
    (comparison,) = compare_records([record(best=best(h1=3.0))], [record(hosts={"c-1": "h2"})])
    assert (comparison.a_scores, comparison.b_scores) == (None, None)
    assert "B's choice is not among the 1 best of A" in comparison.why
    assert "B recorded no scores" in comparison.why


def test_refusal_reason_comes_from_the_refusing_record(compare_records):
    (comparison,) = compare_records([record()], [refused(reasons={"ram": 8, "disk": 2})])
    assert (comparison.a_host, comparison.why) == ("h1", "8 ram, 2 disk")
    (comparison,) = compare_records([refused(why="No host named h9")], [record()])
    assert comparison.why == "No host named h9"
    (comparison,) = compare_records([refused()], [record()])
    assert comparison.why == "no reason is recorded"


def test_different_host_counts_are_reported(compare_records):
    a, b = record(), refused(reasons={"ram": 8})
    a["hosts"], b["hosts"] = 10, 8
    (comparison,) = compare_records([a], [b])
    assert comparison.why.endswith("they looked at 8 and 10 hosts")
