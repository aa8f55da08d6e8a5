# SPDX-License-Identifier: Apache-2.0
"""The file of a partition's hosts."""

from pathlib import Path

import pytest

from rpcapi import errors
from scheduler_svc.replication import known_hosts


def write(folder: Path, content: bytes) -> str:
    path = folder / "known-hosts"
    path.write_bytes(content)
    return str(path)


def test_hosts_are_read_in_order_without_comments_and_repetitions(tmp_path: Path) -> None:
    path = write(tmp_path, b"# rack 1\nh2\n\n  h1  \nh2\n#h3\n")
    assert known_hosts.read(path) == ["h2", "h1"]


@pytest.mark.parametrize("line", [b"h1/n1", b"a b", b"x" * 300])
def test_line_that_is_no_service_host_is_named_in_the_error(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(errors.BadConfiguration, match="known-hosts, line 2: "):
        known_hosts.read(write(tmp_path, b"h1\n" + line))


def test_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.BadConfiguration, match="cannot be read"):
        known_hosts.read(str(tmp_path / "missing"))
    with pytest.raises(errors.BadConfiguration, match="cannot be read"):
        known_hosts.read(write(tmp_path, b"\xff\xfe"))
