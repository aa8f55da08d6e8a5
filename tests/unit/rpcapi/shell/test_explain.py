# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: hosts by name, how fresh the worker was, what prefilters added, and dry runs."""

import pytest

from tests.unit.rpcapi.shell.test_claim import DECISION

REFUSED = DECISION | {
    "outcome": "refused",
    "answered_position": 12,
    "heard_s": 0.4,
    "samples": {"not enough VCPU": ["h1/n1", "h2/n1"]},
    "spec": {"resources": {"VCPU": 2}, "rewritten": {"tenants": {"member_of": [["a", "b"]]}, "image": {"x": ["T"]}}},
}
DRY = DECISION | {"dry_run": True, "candidates": [["h1", "h2"], ["h2"]]}


def test_a_refusal_names_some_of_the_hosts_that_fell(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    assert gantt("explain", "req-1", "-f", "json").json["such_as"] == REFUSED["samples"]
    assert "not enough VCPU: h1/n1, h2/n1" in gantt("explain", "req-1").out


def test_it_tells_how_far_the_worker_was_behind_less_the_claims_own_entry(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    assert gantt("explain", "req-1", "-f", "json").json["freshness"] == {"entries_behind": 3, "heard_s": 0.4}
    assert (
        "3 log entries behind when the store answered, the store heard of 0.4 s before" in gantt("explain", "req-1").out
    )
    cluster.scheduler.decisions["req-1"] = REFUSED | {"outcome": "selected"}
    assert gantt("explain", "req-1", "-f", "json").json["freshness"]["entries_behind"] == 2
    cluster.scheduler.decisions["req-1"] = DECISION  # of before it was recorded
    assert gantt("explain", "req-1", "-f", "json").json["freshness"] == {"entries_behind": None, "heard_s": None}


def test_what_prefilters_added_is_told_apart_from_what_was_asked(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    shown = gantt("explain", "req-1", "-f", "json").json
    assert shown["asked"] == {"resources": {"VCPU": 2}}
    assert shown["prefilters"] == REFUSED["spec"]["rewritten"]
    assert "tenants: member_of a or b" in gantt("explain", "req-1").out


def test_a_batch_is_told_of_where_the_request_was_placed_in_one(cluster, gantt):
    batch = {"calls": 3, "served": 3, "served_one_by_one": 2, "is_most": True, "objective": "pack", "ms": 12.34}
    cluster.scheduler.decisions["req-1"] = DECISION | {"driver": "solver", "batch": batch}
    assert gantt("explain", "req-1", "-f", "json").json["batch"] == batch
    told = " ".join(gantt("explain", "req-1").out.split())
    assert "3 of 3 requests served, the most that can be, to pack; 2 one by one; 12.3 ms" in told
    cluster.scheduler.decisions["req-1"] = DECISION
    assert "batch" not in gantt("explain", "req-1", "-f", "json").json


def test_a_dry_run_asks_as_boot_would_and_shows_the_candidates(cluster, gantt, config_file):
    config_file.write_text(config_file.read_text() + "[flavor:m]\nvcpus = 2\nmemory_mb = 64\ndisk_gb = 1\n")
    cluster.scheduler.decisions["dry run"] = DRY
    done = gantt("explain", "--dry-run", "--flavor", "m", "--count", "2", "--az", "z", "--trait", "CUSTOM_A")
    assert done.code == 0, done.err
    assert "h1, h2" in done.out
    ((spec, count),) = cluster.scheduler.dry_runs
    assert (spec.resources["VCPU"], spec.availability_zone, spec.required_traits, count) == (2, "z", ["CUSTOM_A"], 2)
    assert cluster.conductor.asked == [], "nothing is built"


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        ((), "Give a REQUEST_ID, or --dry-run"),
        (("req-1", "--dry-run"), "Give a REQUEST_ID, or --dry-run"),
        (("--dry-run",), "--dry-run needs --flavor"),
        (("--dry-run", "--flavor", "none"), "none"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(cluster, gantt, argv, why):
    done = gantt("explain", *argv)
    assert done.code == 1
    assert why in done.err
    assert cluster.scheduler.dry_runs == []
