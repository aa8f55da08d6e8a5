# SPDX-License-Identifier: Apache-2.0
"""``gantt events``."""

import json

import pytest


@pytest.fixture
def cluster_of_two(cluster):
    cluster.add_partition("host2")
    for number in range(3):
        cluster.claims.change("alive", {f"host{number}": True})
    cluster.claims2.change("gone", ["host2/node1"])
    return cluster


def parse(text):
    return [json.loads(line) for line in text.splitlines()]


def test_changes_of_all_partitions_and_pages_are_printed_with_their_positions(cluster_of_two, gantt):
    result = gantt("events", "--once", "-f", "json")
    rows = parse(result.out)
    assert [(row["partition"], row["position"]) for row in rows] == [
        ("default", 10),
        ("default", 11),
        ("second", 10),
        ("default", 12),
    ]
    assert rows[0] == {
        "partition": "default",
        "epoch": 7,
        "position": 10,
        "kind": "alive",
        "payload": {"host0": True},
    }
    assert result.err == "Continue with: gantt events --after default:7:12 --after second:7:10\n"


def test_a_later_run_continues_after_a_position(cluster_of_two, gantt):
    result = gantt("events", "--once", "--after", "default:7:11", "--partition", "default", "-f", "value")
    assert result.out.splitlines() == ["default 7 12 alive host2: true"]


def test_changes_that_happen_later_are_printed_until_an_interruption(cluster_of_two, gantt, in_pauses):
    in_pauses(lambda: cluster_of_two.claims.change("state", {"rack": {"h1": None}}))
    result = gantt("events", "--after", "default:7:12", "--after", "second:7:10")
    header, row = result.out.splitlines()
    assert header.split() == ["partition", "epoch", "position", "kind", "payload"]
    assert row.split() == ["default", "7", "13", "state", "rack:", '{"h1":', "null}"]
    assert (result.code, result.err) == (
        0,
        "Continue with: gantt events --after default:7:13 --after second:7:10\n",
    )


def test_kinds_are_passed_on_and_the_default_is_the_services(cluster, gantt):
    gantt("events", "--once")
    gantt("events", "--once", "--kind", "used", "--kind", "epoch")
    assert cluster.claims.requested_kinds == [None, ["used", "epoch"]]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--after", "default:7"), 2, "'default:7' is not PARTITION:EPOCH:POSITION, such as default:3:1204"),
        (("--after", "west:7:1"), 1, "west"),
        (("--partition", "west"), 1, "west"),
        (("--interval", "0"), 2, "0 is not from 0.1 to 3600"),
        (("-f", "yaml"), 1, "Rows cannot be followed with -f yaml; use table, json, csv or value"),
        (("-c", "color"), 1, "Unknown column color; known: partition, epoch, position, kind, payload"),
    ],
)
def test_wrong_options_are_refused(cluster, gantt, options, code, message):
    result = gantt("events", "--once", *options)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
