# SPDX-License-Identifier: Apache-2.0
"""Reading decision records: the last record of a consumer wins, and errors name the line."""

import pytest

from devstack.lab.shadow import records
from devstack.lab.shadow.records import DecisionRecords, RecordError
from tests.unit.devstack.lab.shadow.files import best, record, refused, write


def test_record_has_hosts_scores_and_reasons(tmp_path):
    document = record(hosts={"c-1": "h1", "c-2": "h2"}, reasons={"ram": 3}, best=best(h1=2.0, h2=1.5))
    document["hosts"] = 10
    with DecisionRecords(write(tmp_path / "a", document, refused("req-2", why="no such host"))) as decisions:
        assert list(decisions) == ["req-1", "req-2"]
        first_decision = decisions.find("req-1")
        assert (first_decision.host("c-1"), first_decision.host("c-2"), first_decision.host_count) == ("h1", "h2", 10)
        assert first_decision.best["h2"].score == 1.5
        assert first_decision.reasons == {"ram": 3}
        second_decision = decisions.find("req-2")
        assert second_decision.refused
        assert second_decision.host("anybody") is None
        assert second_decision.why == "no such host"
        with pytest.raises(KeyError):
            first_decision.host("c-9")


def test_last_record_per_consumer_wins_and_chunks_are_merged(tmp_path):
    first, second = record(hosts={"c-1": "h1"}), record(hosts={"c-2": "h2"})
    with DecisionRecords(write(tmp_path / "a", first, second, record(hosts={"c-1": "h9"}))) as decisions:
        assert decisions.find("req-1").hosts == {"c-1": "h9", "c-2": "h2"}
    with DecisionRecords(write(tmp_path / "b", record(), refused())) as decisions:
        assert decisions.find("req-1").refused


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not a decision record: Expecting property name"),
        ("[]", "list indices"),
        ('"text"', "string indices"),
        ("{}", "it lacks 'request_id'"),
        ('{"request_id": ""}', "request_id is '', not a non-empty string"),
        ('{"request_id": "r"}', "it lacks 'outcome'"),
        ('{"request_id": "r", "outcome": "maybe"}', "outcome is 'maybe'"),
        ('{"request_id": "r", "outcome": "selected"}', "do not name a host for each consumer"),
        (
            '{"request_id": "r", "outcome": "shadow", "verdicts": [{"consumer": "c"}]}',
            "do not name a host for each consumer",
        ),
        ('{"request_id": "r", "outcome": "refused", "verdicts": {}, "best": 3}', "best is not a list"),
        ('{"request_id": "r", "outcome": "refused", "reasons": [1]}', "items"),
        ('{"request_id": "r", "outcome": "refused", "best": [{"name": "h"}]}', "it lacks 'score'"),
    ],
)
def test_invalid_record_error_names_its_line(tmp_path, line, message):
    path = write(tmp_path / "a", record())
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RecordError, match=message):
        DecisionRecords(path)


def test_unreadable_empty_or_oversized_files_are_refused(tmp_path, monkeypatch):
    with pytest.raises(RecordError, match="cannot be read"):
        DecisionRecords(tmp_path / "absent")
    with pytest.raises(RecordError, match="contains no decision"):
        DecisionRecords(write(tmp_path / "empty"))
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 50)
    with pytest.raises(RecordError, match=r"line 1 .* more than 50 bytes"):
        DecisionRecords(write(tmp_path / "long", record()))
