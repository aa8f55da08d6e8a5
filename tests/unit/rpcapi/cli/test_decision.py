# SPDX-License-Identifier: Apache-2.0
"""``gantt decision export``: one JSON object per recorded decision; ``gantt decision compare``: their summary."""

import json

import pytest

REFUSED = {"outcome": "refused", "why": "no such host", "verdicts": [], "reasons": {}, "best": []}


@pytest.fixture
def decisions(cluster):
    """Decisions on several pages."""
    cluster.scheduler.decisions = {f"req-{number}": REFUSED | {"hosts": number} for number in range(5)}
    return cluster


def parse_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_each_decision_is_a_line_with_request_id_and_partition(decisions, gantt):
    result = gantt("decision", "export")
    assert result.code == 0
    exported = parse_lines(result.out)
    assert [decision["request_id"] for decision in exported] == [f"req-{number}" for number in range(5)]
    assert exported[3] == REFUSED | {"hosts": 3, "request_id": "req-3", "partition": "default"}
    assert "5 decisions" in result.err


def test_output_option_writes_a_file(decisions, gantt, tmp_path):
    path = tmp_path / "decisions.jsonl"
    result = gantt("decision", "export", "--output", str(path), "--partition", "default")
    assert (result.code, result.out) == (0, "")
    assert len(parse_lines(path.read_text())) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--output", "/dev/null/no"], "Cannot write the decisions to /dev/null/no"),
        (["--partition", "elsewhere"], "elsewhere"),
    ],
)
def test_failed_export_is_one_line(decisions, gantt, options, message):
    result = gantt("decision", "export", *options)
    assert result.code == 1
    assert message in result.err
    assert "Traceback" not in result.err


def test_export_without_decisions_writes_nothing(cluster, gantt):
    result = gantt("decision", "export")
    assert (result.code, result.out) == (0, "")


INSTANCE = {
    "consumer": "c",
    "outcome": "same host",
    "nova_host": "h1",
    "gantt_host": "h1",
    "why": "",
    "rank": 1,
    "count": 4,
}
REFUSED_BY_GANTT = INSTANCE | {
    "outcome": "Nova's host refused by gantt",
    "why": "compute service down",
    "rank": 0,
    "count": 0,
}
OTHER = INSTANCE | {"outcome": "another host", "why": "rank 2 of 4", "rank": 2}


def decision(*instances):
    return {"outcome": "shadow", "spec": {}, "nova": {"pending": 0, "instances": list(instances)}}


def test_instances_are_counted_by_outcome_with_reasons_and_newest_requests(cluster, gantt):
    cluster.scheduler.decisions = {
        "req-unrelated": {"outcome": "selected", "spec": {}},
        **{f"req-{number}": decision(INSTANCE) for number in range(5)},
        "req-5": decision(REFUSED_BY_GANTT, REFUSED_BY_GANTT),
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
    cluster.scheduler.decisions = {"req-5": decision(REFUSED_BY_GANTT)}
    result = gantt("explain", "req-5")
    assert result.code == 0
    text = " ".join(result.out.replace("|", " ").split())
    assert "Nova's host refused by gantt: Nova h1, gantt h1 (compute service down)" in text
