# SPDX-License-Identifier: Apache-2.0
"""File with a partition's service hosts, read after the store forgot hosts."""

from pathlib import Path

from rpcapi import errors
from scheduler_svc.store import validation

COMMENT = "#"


def read(path: str) -> list[str]:
    """Return the service hosts in the file: one per line, comments begin with #. Raises BadConfiguration."""
    try:
        lines = [line.strip() for line in Path(path).read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise errors.BadConfiguration(why=f"[store] known_hosts_file {path}: cannot be read: {error}") from error
    hosts: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith(COMMENT):
            continue
        try:
            validation.check_service_host(line)
        except errors.InvalidName as error:
            why = f"[store] known_hosts_file {path}, line {number}: {error}"
            raise errors.BadConfiguration(why=why) from error
        hosts[line] = None
    return list(hosts)
