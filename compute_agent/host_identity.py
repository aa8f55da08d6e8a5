# SPDX-License-Identifier: Apache-2.0
"""Identity of a service host: the uuid of its state folder, and guests left under a former host name."""

import contextlib
import json
import textwrap
import uuid
from collections.abc import Collection
from pathlib import Path
from urllib.parse import unquote

from compute_agent import state_files
from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalDamaged, JournalFile
from compute_agent.newer_state import NewerState
from rpcapi.validation.instances import is_uuid

SCHEMA = 1
FILE = "identity"
JOURNAL, GUESTS = "journal", "guests"
MAX_REFUSAL = 1000  # characters; the scheduler's limit
MAX_NAMED = 3  # former hosts named in a refusal


class HostIdentity:
    """Uuid of a host's state folder, created once and kept in a file.

    ``is_served`` tells that a scheduler has accepted the folder. It is reset when the state path is used without this
    host, since the machine may have been renamed.
    """

    def __init__(self, folder: Path, host: str) -> None:
        """Read or create the file; raises ValueError, NewerState and OSError, but never replaces an identity."""
        self._path = folder / FILE
        self._host = host
        self.is_served = False
        if self._path.exists():
            self.uuid, self.is_served = _read(self._path, host)
        else:
            self.uuid = str(uuid.uuid4())
            self._write()

    def set_served(self, is_served: bool) -> None:
        """Record whether a scheduler has accepted the folder; raises OSError."""
        if is_served != self.is_served:
            self.is_served = is_served
            self._write()

    def _write(self) -> None:
        record = {"schema": SCHEMA, "host": self._host, "uuid": self.uuid, "served": self.is_served}
        state_files.replace(self._path, json.dumps(record))


def _read(path: Path, host: str) -> tuple[str, bool]:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        schema, owner, text, is_served = (record[key] for key in ("schema", "host", "uuid", "served"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error!r}): restore it from a copy of the folder") from error
    if type(schema) is int and schema > SCHEMA:
        raise NewerState(path, f"it has schema {schema}; this agent supports {SCHEMA}")
    if not is_uuid(text) or type(is_served) is not bool:
        raise ValueError(f"{path} is damaged: restore it from a copy of the folder")
    if owner != host:
        raise ValueError(f"{path} belongs to host {owner}, not {host}: each host needs a folder of its own")
    return text, is_served


def abandoned_guests(state_path: Path, hosts: Collection[str], retention_ms: int) -> dict[str, int]:
    """Return {host: number of guests} of the folders in ``state_path`` for hosts outside ``hosts``.

    Marks folders without guests as not served. The caller must own ``state_path``; journals keep ended attempts for
    ``retention_ms``. Raises OSError.
    """
    guests = {}
    for folder in sorted(state_path.iterdir()):
        host = unquote(folder.name)
        if host in hosts or not (folder / JOURNAL).exists():
            continue
        number = _count_guests(folder, host, retention_ms)
        if number:
            guests[host] = number
        elif (folder / FILE).exists():
            with contextlib.suppress(ValueError, NewerState):
                HostIdentity(folder, host).set_served(False)
    return guests


def _count_guests(folder: Path, host: str, retention_ms: int) -> int:
    """Return the number of live attempts; with an unusable journal, the number of guest files, at least 1."""
    journal = Journal(JournalFile(folder / JOURNAL, host), retention_ms)
    try:
        journal.open()
        return len(journal.live())
    except (JournalDamaged, NewerState, ValueError):
        return max(1, len(list((folder / GUESTS).glob("*.json"))))
    finally:
        journal.close()


def rename_refusal(host: str, guests: dict[str, int]) -> str:
    names = ", ".join(f"{number} of host {name}" for name, number in list(guests.items())[:MAX_NAMED])
    former = next(iter(guests))
    text = (
        f"host {host} takes no new guests: its state path has guests of hosts that this agent does not serve "
        f"({names}). If the host was renamed, start its agent as {former}, run 'gantt host drain {former}', then "
        "rename it"
    )
    return textwrap.shorten(text, MAX_REFUSAL)
