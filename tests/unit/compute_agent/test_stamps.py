# SPDX-License-Identifier: Apache-2.0
"""The file with a host's newest stamp."""

from pathlib import Path

import pytest

from compute_agent.stamps import StampFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stamp"


def test_newest_stamp_survives_the_agent(path: Path) -> None:
    assert StampFile(path, "p1").newest is None
    StampFile(path, "p1").keep("7.42.aa")
    assert StampFile(path, "p1").newest == "7.42.aa"
    assert StampFile(path, "p2").newest is None


@pytest.mark.parametrize(
    ("first", "second", "newest"),
    [
        ("7.42.aa", "7.43.bb", "7.43.bb"),
        ("7.42.aa", "8.1.bb", "8.1.bb"),
        ("7.42.aa", "7.42.bb", "7.42.bb"),  # the key has changed
        ("7.42.aa", "7.41.bb", "7.42.aa"),
        ("7.42.aa", "6.99.bb", "7.42.aa"),
        ("7.9.aa", "7.10.bb", "7.10.bb"),
        ("7.42.aa", "nonsense", "7.42.aa"),
        ("7.42.aa", None, "7.42.aa"),
    ],
)
def test_older_stamp_does_not_replace_the_evidence(path: Path, first: str, second: str | None, newest: str) -> None:
    stamps = StampFile(path, "p1")
    stamps.keep(first)
    stamps.keep(second)
    assert stamps.newest == StampFile(path, "p1").newest == newest


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"partition": "p1", "stamp": 5}', "\udcff"])
def test_unreadable_file_is_ignored_and_replaced(path: Path, text: str) -> None:
    path.write_bytes(text.encode(errors="surrogateescape"))
    stamps = StampFile(path, "p1")
    assert stamps.newest is None
    stamps.keep("7.42.aa")
    assert StampFile(path, "p1").newest == "7.42.aa"


def test_stamp_that_cannot_be_written_is_kept_in_memory(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stamps = StampFile(path / "missing" / "stamp", "p1")
    stamps.keep("7.42.aa")
    assert stamps.newest == "7.42.aa"
    assert "Cannot save the stamp" in caplog.text
