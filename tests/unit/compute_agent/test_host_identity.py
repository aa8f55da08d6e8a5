# SPDX-License-Identifier: Apache-2.0
"""The uuid of a host's state folder, and guests that a former host name left behind."""

import json
from pathlib import Path

import pytest

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.host_identity import MAX_REFUSAL, HostIdentity, abandoned_guests, rename_refusal
from compute_agent.newer_state import NewerState
from compute_agent.state_files import folder_name
from rpcapi.validation.instances import is_uuid

RETENTION_MS = 3_600_000


def test_uuid_is_created_once_and_differs_for_each_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first = HostIdentity(tmp_path, "a")
    assert is_uuid(first.uuid) and not first.is_served
    assert HostIdentity(tmp_path, "a").uuid == first.uuid
    assert HostIdentity(tmp_path / "b", "b").uuid != first.uuid


def test_mark_of_a_served_folder_is_kept(tmp_path: Path) -> None:
    first = HostIdentity(tmp_path, "a")
    for is_served in (True, False):
        first.set_served(is_served)
        again = HostIdentity(tmp_path, "a")
        assert (again.uuid, again.is_served) == (first.uuid, is_served)


def test_failed_creation_leaves_no_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(fd: int) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="no space"):
            HostIdentity(tmp_path, "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes", [{"uuid": "x"}, {"served": 1}, {"uuid": None}, {"schema": 2}, {"host": "b"}, None], ids=str
)
def test_unusable_identity_is_refused_and_never_replaced(tmp_path: Path, changes: dict[str, object] | None) -> None:
    HostIdentity(tmp_path, "a")
    file = tmp_path / "identity"
    text = "{" if changes is None else json.dumps(json.loads(file.read_text()) | changes)
    file.write_text(text)
    with pytest.raises((ValueError, NewerState), match=r"is damaged|belongs to host b, not a|has schema 2"):
        HostIdentity(tmp_path, "a")
    assert file.read_text() == text


def host_with_guest(state_path: Path, host: str) -> Path:
    """Make the folder of a host that runs one guest; return it."""
    folder = state_path / folder_name(host)
    folder.mkdir()
    journal = open_journal(folder, host)
    journal.put([Attempt("a", 1, Stage.SPAWNED, 0, name=host)])
    journal.close()
    (folder / "guests").mkdir()
    (folder / "guests" / "a.json").write_text("{}")
    HostIdentity(folder, host).set_served(True)
    return folder


def open_journal(folder: Path, host: str) -> Journal:
    journal = Journal(JournalFile(folder / "journal", host), RETENTION_MS)
    journal.open()
    return journal


def test_guests_of_hosts_that_are_not_served_are_counted(tmp_path: Path) -> None:
    for host in ("old", ".old/2", "served"):
        host_with_guest(tmp_path, host)
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "lock").touch()
    assert abandoned_guests(tmp_path, {"served", "new"}, RETENTION_MS) == {".old/2": 1, "old": 1}
    assert HostIdentity(tmp_path / "old", "old").is_served


def test_folder_without_guests_is_no_longer_served(tmp_path: Path) -> None:
    folder = host_with_guest(tmp_path, "old")
    journal = open_journal(folder, "old")
    journal.advance([AttemptRef("a", 1)], Stage.GONE)
    journal.close()
    assert abandoned_guests(tmp_path, {"new"}, RETENTION_MS) == {}
    assert not HostIdentity(folder, "old").is_served


def test_host_with_a_damaged_journal_counts_by_its_guests(tmp_path: Path) -> None:
    folder = host_with_guest(tmp_path, "old")
    (folder / "journal").write_bytes(b"00000000 {}\nx\n")
    assert abandoned_guests(tmp_path, {"new"}, RETENTION_MS) == {"old": 1}
    (folder / "guests" / "a.json").unlink()
    assert abandoned_guests(tmp_path, {"new"}, RETENTION_MS) == {"old": 1}


def test_refusal_says_what_to_do_and_is_bounded() -> None:
    assert rename_refusal("new", {"old": 4}) == (
        "host new takes no new guests: its state path has guests of hosts that this agent does not serve (4 of host "
        "old). If the host was renamed, start its agent as old, run 'gantt host drain old', then rename it"
    )
    assert len(rename_refusal("n" * 200, {f"{number}" + "x" * 250: 1 for number in range(100)})) <= MAX_REFUSAL
