# SPDX-License-Identifier: Apache-2.0
"""The journal file: acknowledged batches survive a crash at any moment."""

import os
from pathlib import Path

import pytest

from compute_agent.attempts import journal_file
from compute_agent.attempts.journal_file import JournalDamaged, JournalFile

FIRST, LAST = [{"n": 1}, {"n": 2}], [{"n": 3, "text": "a line\nof two"}]


def open_file(path: Path) -> tuple[JournalFile, list[list[dict]]]:
    file = JournalFile(path, "alpha")
    return file, file.read()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    file, _ = open_file(path)
    file.append(FIRST)
    file.append(LAST)
    file.close()
    return path


def contents(path: Path) -> list[list[dict]]:
    file, batches = open_file(path)
    file.close()
    return [batch for batch in batches if batch]


def test_reads_back_what_was_appended(path: Path) -> None:
    assert contents(path) == [FIRST, LAST]


def test_crash_at_any_byte_of_the_last_batch_drops_only_that_batch(path: Path) -> None:
    raw = path.read_bytes()
    begin = raw.rindex(b"\n", 0, len(raw) - 1) + 1
    for length in range(begin, len(raw)):
        path.write_bytes(raw[:length])
        assert contents(path) == [FIRST]
        # and the next agent's batch stands where the torn one was
        file, _ = open_file(path)
        file.append([{"n": 4}])
        file.close()
        assert contents(path) == [FIRST, [{"n": 4}]]


def test_last_batch_with_wrong_checksum_is_dropped(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[:-8] + b"\0" * 7 + b"\n")
    assert contents(path) == [FIRST]


def test_damage_before_the_last_batch_is_reported_with_its_line(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    for number in range(len(lines) - 2):
        damaged = list(lines)
        damaged[number] = damaged[number][:-1] + b"!"
        path.write_bytes(b"\n".join(damaged))
        with pytest.raises(JournalDamaged, match=rf"damaged in line {number + 1} of {len(lines) - 1}"):
            open_file(path)


def test_damaged_line_before_a_torn_last_line_is_refused(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[:-3].replace(b'"n":1', b'"n":7'))
    with pytest.raises(JournalDamaged):
        open_file(path)


def test_another_hosts_journal_and_another_schema_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JournalDamaged, match="beta"):
        JournalFile(path, "beta").read()
    monkeypatch.setattr(journal_file, "SCHEMA", 2)
    with pytest.raises(JournalDamaged, match="'schema': 1"):
        JournalFile(path, "alpha").read()


def test_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "journal").touch()
    with pytest.raises(JournalDamaged, match="begins with nothing"):
        open_file(tmp_path / "journal")


def test_rewrite_replaces_the_content_and_allows_append(path: Path) -> None:
    file, _ = open_file(path)
    file.rewrite([{"n": 9}])
    file.append(LAST)
    file.close()
    assert contents(path) == [[{"n": 9}], LAST]
    assert sorted(item.name for item in path.parent.iterdir()) == ["journal"]


def test_a_batch_is_synced_once_before_it_is_acknowledged(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(path.read_bytes()))
    file, _ = open_file(path)
    file.append([{"n": number} for number in range(100)])
    file.append([{"n": 100}], durable=False)
    file.close()
    assert len(synced) == 1
    assert b'"n":99' in synced[0]


def test_append_after_a_failed_write_requires_rewrite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, _ = open_file(path)

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            file.append([{"n": 4}])
    assert file.needs_rewrite
    with pytest.raises(OSError, match="rewrite it"):
        file.append([{"n": 5}])
    file.rewrite([{"n": 5}])
    assert not file.needs_rewrite
    file.close()
    assert contents(path) == [[{"n": 5}]]
