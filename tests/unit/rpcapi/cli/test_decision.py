# SPDX-License-Identifier: Apache-2.0
"""``gantt decision export``: one JSON object per recorded decision."""

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
