# SPDX-License-Identifier: Apache-2.0
"""``gantt audit``: reads all sides in pages, twice if they differ."""

import pytest

from tests.unit.rpcapi.cli.doubles import instance

AUDIT = ("audit", "-f", "json", "--pause", "0")


@pytest.fixture
def running(cluster, hosts):
    """Five instances that run on host1 under their claims."""
    for uuid in "abcde":
        cluster.conductor.instances[uuid] = instance(uuid)
        cluster.claims.claim(uuid)
        cluster.conductor.guests["host1"].append((uuid, 1, "host1/node1", "running"))
    return cluster


def test_cluster_without_differences_exits_0(running, gantt):
    result = gantt(*AUDIT)
    assert (result.code, result.json) == (0, [])
    assert "guests, claims and records agree" in result.err


def test_difference_exits_1_in_each_format(running, gantt):
    del running.claims.claims["c"]
    result = gantt(*AUDIT)
    assert result.code == 1
    expected = {"difference": "guest without claim", "instance": "c", "attempt": 1, "host": "host1"}
    assert result.json == [{**expected, "detail": "the claim is none"}]
    table = gantt("audit", "--pause", "0")
    assert table.code == 1 and "guest without claim" in table.out


def test_what_differs_only_in_one_reading_is_not_shown(running, gantt, monkeypatch):
    # Given an instance that is being booted during the first reading
    running.conductor.guests["host1"].append(("f", 1, "host1/node1", "running"))

    def finish_boot(seconds):
        running.conductor.instances["f"] = instance("f")
        running.claims.claim("f")

    monkeypatch.setattr("rpcapi.cli.audit.time.sleep", finish_boot)
    assert gantt(*AUDIT).code == 0


def test_hosts_that_cannot_be_compared_are_named_if_they_matter(running, gantt):
    # host3 is down, but nothing is there; host1 does not answer
    running.conductor.silent = {"host1"}
    result = gantt(*AUDIT)
    assert (result.code, [(row["difference"], row["host"]) for row in result.json]) == (
        1,
        [("host not compared", "host1")],
    )


def test_host_that_the_store_does_not_know_is_read_if_a_record_names_it(running, gantt):
    running.conductor.instances["f"] = instance("f", host="lost/node1")
    running.conductor.guests["lost"].append(("f", 1, "lost/node1", "running"))
    result = gantt(*AUDIT)
    assert [(row["difference"], row["host"]) for row in result.json] == [("guest without claim", "lost")]
