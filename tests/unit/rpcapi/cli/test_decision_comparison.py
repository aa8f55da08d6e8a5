# SPDX-License-Identifier: Apache-2.0
"""``gantt decision compare``: the summary of a shadow's comparisons."""

import json

INSTANCE = {
    "consumer": "c",
    "outcome": "same host",
    "nova_host": "h1",
    "gantt_host": "h1",
    "why": "",
    "rank": 1,
    "count": 4,
}
REFUSED = INSTANCE | {"outcome": "Nova's host refused by gantt", "why": "compute service down", "rank": 0, "count": 0}
OTHER = INSTANCE | {"outcome": "another host", "why": "rank 2 of 4", "rank": 2}


def decision(*instances):
    return {"outcome": "shadow", "spec": {}, "nova": {"pending": 0, "instances": list(instances)}}


def test_instances_are_counted_by_outcome_with_reasons_and_newest_requests(cluster, gantt):
    cluster.scheduler.decisions = {
        "req-unrelated": {"outcome": "selected", "spec": {}},
        **{f"req-{number}": decision(INSTANCE) for number in range(5)},
        "req-5": decision(REFUSED, REFUSED),
        "req-6": decision(OTHER),
    }
    result = gantt("decision", "compare", "-f", "json")
    assert result.code == 0
    rows = {row.pop("outcome"): row for row in json.loads(result.out)}
    assert rows == {
        "same host": {"instances": 5, "share": "62.5%", "reasons": {}, "examples": ["req-4", "req-3", "req-2"]},
        "Nova's host refused by gantt": {
            "instances": 2,
            "share": "25.0%",
            "reasons": {"compute service down": 2},
            "examples": ["req-5"],
        },
        "another host": {"instances": 1, "share": "12.5%", "reasons": {}, "examples": ["req-6"]},
    }


def test_no_comparison_is_an_empty_table(cluster, gantt):
    cluster.scheduler.decisions = {"req-1": {"outcome": "selected", "spec": {}}}
    result = gantt("decision", "compare", "-f", "json")
    assert (result.code, json.loads(result.out)) == (0, [])


def test_explain_shows_what_nova_chose(cluster, gantt):
    cluster.scheduler.decisions = {"req-5": decision(REFUSED)}
    result = gantt("explain", "req-5")
    assert result.code == 0
    text = " ".join(result.out.replace("|", " ").split())
    assert "Nova's host refused by gantt: Nova h1, gantt h1 (compute service down)" in text
