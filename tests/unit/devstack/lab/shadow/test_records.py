# SPDX-License-Identifier: Apache-2.0
"""Reading decision records: the last word on a consumer counts, and what is no record is named by its line."""

import pytest

from devstack.lab.shadow import records
from devstack.lab.shadow.records import DecisionRecords, RecordError
from tests.unit.devstack.lab.shadow.files import best, record, refused, write


def test_a_record_tells_who_got_what_and_why(tmp_path):
    told = record(hosts={"c-1": "h1", "c-2": "h2"}, reasons={"ram": 3}, best=best(h1=2.0, h2=1.5))
    told["hosts"] = 10
    with DecisionRecords(write(tmp_path / "a", told, refused("req-2", why="no such host"))) as found:
        assert list(found) == ["req-1", "req-2"]
        one = found.find("req-1")
        assert (one.host("c-1"), one.host("c-2"), one.looked_at) == ("h1", "h2", 10)
        assert one.best["h2"].score == 1.5
        assert one.reasons == {"ram": 3}
        other = found.find("req-2")
        assert other.refused
        assert other.host("anybody") is None
        assert other.why == "no such host"
        with pytest.raises(KeyError):
            one.host("c-9")


def test_of_several_records_the_last_counts_and_chunks_are_put_together(tmp_path):
    first, second = record(hosts={"c-1": "h1"}), record(hosts={"c-2": "h2"})
    with DecisionRecords(write(tmp_path / "a", first, second, record(hosts={"c-1": "h9"}))) as found:
        assert found.find("req-1").hosts == {"c-1": "h9", "c-2": "h2"}
    with DecisionRecords(write(tmp_path / "b", record(), refused())) as found:
        assert found.find("req-1").refused


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 is no decision record: Expecting property name"),
        ("[]", "list indices"),
        ('"text"', "string indices"),
        ("{}", "it lacks 'request_id'"),
        ('{"request_id": ""}', "request_id is '', no text"),
        ('{"request_id": "r"}', "it lacks 'outcome'"),
        ('{"request_id": "r", "outcome": "maybe"}', "its outcome is 'maybe'"),
        ('{"request_id": "r", "outcome": "selected"}', "not of one for each consumer"),
        ('{"request_id": "r", "outcome": "shadow", "verdicts": [{"consumer": "c"}]}', "not of one for each consumer"),
        ('{"request_id": "r", "outcome": "refused", "verdicts": {}, "best": 3}', "best is no list"),
        ('{"request_id": "r", "outcome": "refused", "reasons": [1]}', "items"),
        ('{"request_id": "r", "outcome": "refused", "best": [{"name": "h"}]}', "it lacks 'score'"),
    ],
)
def test_what_is_no_record_is_named_by_its_line(tmp_path, line, says):
    path = write(tmp_path / "a", record())
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(RecordError, match=says):
        DecisionRecords(path)


def test_files_that_cannot_be_read_hold_nothing_or_have_endless_lines_are_refused(tmp_path, monkeypatch):
    with pytest.raises(RecordError, match="cannot be read"):
        DecisionRecords(tmp_path / "absent")
    with pytest.raises(RecordError, match="holds no decision"):
        DecisionRecords(write(tmp_path / "empty"))
    monkeypatch.setattr(records, "MAX_LINE_BYTES", 50)
    with pytest.raises(RecordError, match=r"line 1 .* more than 50 bytes"):
        DecisionRecords(write(tmp_path / "long", record()))
