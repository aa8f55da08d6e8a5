# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: sample hosts, freshness of the replica, prefilters, batches, and dry runs."""

import pytest

from tests.unit.rpcapi.cli.test_claim import DECISION

REFUSED = DECISION | {
    "outcome": "refused",
    "answered_position": 12,
    "seconds_since_contact": 0.4,
    "samples": {"not enough VCPU": ["h1/n1", "h2/n1"]},
    "spec": {"resources": {"VCPU": 2}, "rewritten": {"tenants": {"member_of": [["a", "b"]]}, "image": {"x": ["T"]}}},
}
DRY = DECISION | {"dry_run": True, "candidates": [["h1", "h2"], ["h2"]]}


def test_refusal_shows_sample_hosts(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    assert gantt("explain", "req-1", "-f", "json").json["examples"] == REFUSED["samples"]
    assert "not enough VCPU: h1/n1, h2/n1" in gantt("explain", "req-1").out


def test_freshness_excludes_the_entry_of_the_claim_itself(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    assert gantt("explain", "req-1", "-f", "json").json["freshness"] == {
        "entries_behind": 3,
        "seconds_since_contact": 0.4,
    }
    assert (
        "3 log entries behind when the store answered, last contact with the store 0.4 s before"
        in gantt("explain", "req-1").out
    )
    cluster.scheduler.decisions["req-1"] = REFUSED | {"outcome": "selected"}
    assert gantt("explain", "req-1", "-f", "json").json["freshness"]["entries_behind"] == 2
    cluster.scheduler.decisions["req-1"] = DECISION  # a record without freshness, from an older version
    assert gantt("explain", "req-1", "-f", "json").json["freshness"] == {
        "entries_behind": None,
        "seconds_since_contact": None,
    }


def test_prefilter_constraints_are_separate_from_the_request(cluster, gantt):
    cluster.scheduler.decisions["req-1"] = REFUSED
    columns = gantt("explain", "req-1", "-f", "json").json
    assert columns["request"] == {"resources": {"VCPU": 2}}
    assert columns["prefilters"] == REFUSED["spec"]["rewritten"]
    assert "tenants: member_of a or b" in gantt("explain", "req-1").out


def test_batch_is_shown_for_requests_decided_together(cluster, gantt):
    batch = {"calls": 3, "served": 3, "served_one_by_one": 2, "is_most": True, "objective": "pack", "ms": 12.34}
    cluster.scheduler.decisions["req-1"] = DECISION | {"driver": "solver", "batch": batch}
    assert gantt("explain", "req-1", "-f", "json").json["batch"] == batch
    output = " ".join(gantt("explain", "req-1").out.split())
    assert "3 of 3 requests served, proven maximum, objective pack; 2 one by one; 12.3 ms" in output
    stopped = {**batch, "is_most": False, "stop_reason": "work"}
    cluster.scheduler.decisions["req-1"] = DECISION | {"driver": "solver", "batch": stopped}
    assert "best found within the limit of work, objective pack" in " ".join(gantt("explain", "req-1").out.split())
    cluster.scheduler.decisions["req-1"] = DECISION
    assert "batch" not in gantt("explain", "req-1", "-f", "json").json


def test_dry_run_takes_boot_options_and_shows_candidates(cluster, gantt, config_file):
    config_file.write_text(config_file.read_text() + "[flavor:m]\nvcpus = 2\nmemory_mb = 64\ndisk_gb = 1\n")
    cluster.scheduler.decisions["dry run"] = DRY
    result = gantt("explain", "--dry-run", "--flavor", "m", "--count", "2", "--az", "z", "--trait", "CUSTOM_A")
    assert result.code == 0, result.err
    assert "h1, h2" in result.out
    ((spec, count),) = cluster.scheduler.dry_runs
    assert (spec.resources["VCPU"], spec.availability_zone, spec.required_traits, count) == (2, "z", ["CUSTOM_A"], 2)
    assert cluster.conductor.builds == [], "nothing is built"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "Give either a REQUEST_ID, or --dry-run"),
        (("req-1", "--dry-run"), "Give either a REQUEST_ID, or --dry-run"),
        (("--dry-run",), "--dry-run needs --flavor"),
        (("--dry-run", "--flavor", "none"), "none"),
    ],
)
def test_invalid_arguments_are_rejected_in_one_line(cluster, gantt, argv, message):
    result = gantt("explain", *argv)
    assert result.code == 1
    assert message in result.err
    assert cluster.scheduler.dry_runs == []
