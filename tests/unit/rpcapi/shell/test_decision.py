# SPDX-License-Identifier: Apache-2.0
"""``gantt decision export``: every recorded decision, a JSON object a line."""

import json

import pytest

REFUSED = {"outcome": "refused", "why": "no such host", "verdicts": [], "reasons": {}, "best": []}


@pytest.fixture
def recorded(cluster):
    """Decisions on more than one page."""
    cluster.scheduler.decisions = {f"req-{number}": REFUSED | {"hosts": number} for number in range(5)}
    return cluster


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_each_decision_is_a_line_that_says_whose_it_is(recorded, gantt):
    done = gantt("decision", "export")
    assert done.code == 0
    found = lines(done.out)
    assert [one["request_id"] for one in found] == [f"req-{number}" for number in range(5)]
    assert found[3] == REFUSED | {"hosts": 3, "request_id": "req-3", "partition": "default"}
    assert "5 decisions" in done.err


def test_a_file_is_written_where_one_is_named(recorded, gantt, tmp_path):
    path = tmp_path / "decisions.jsonl"
    done = gantt("decision", "export", "--output", str(path), "--partition", "default")
    assert (done.code, done.out) == (0, "")
    assert len(lines(path.read_text())) == 5


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--output", "/dev/null/no"], "The decisions cannot be written to /dev/null/no"),
        (["--partition", "elsewhere"], "elsewhere"),
    ],
)
def test_what_cannot_be_exported_is_told_in_a_line(recorded, gantt, options, sentence):
    done = gantt("decision", "export", *options)
    assert done.code == 1
    assert sentence in done.err
    assert "Traceback" not in done.err


def test_where_nothing_is_recorded_nothing_is_written(cluster, gantt):
    done = gantt("decision", "export")
    assert (done.code, done.out) == (0, "")
