# SPDX-License-Identifier: Apache-2.0
"""Reads guests and journals of agents from their state folders, with a reader of its own."""

import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from devstack.lab.chaos.final_state import GuestFile, JournalledAttempt


def read_guests(state_folder: Path) -> list[GuestFile]:
    """Return the guests below an agent's state folder, without vanished files; raises ValueError."""
    return [guest for folder in host_folders(state_folder) for guest in _guests_of(folder)]


def host_folders(state_folder: Path) -> list[Path]:
    return sorted(path.parent for path in state_folder.glob("*/journal"))


def host_name(folder: Path) -> str:
    return unquote(folder.name)


def read_attempts(state_folder: Path) -> list[JournalledAttempt]:
    """Return the attempts in an agent's journals, without a torn last line; raises ValueError for other damage."""
    return [attempt for folder in host_folders(state_folder) for attempt in _attempts_of(folder)]


def _guests_of(folder: Path) -> Iterator[GuestFile]:
    for path in sorted((folder / "guests").glob("*.json")):
        if path.name.startswith("."):
            continue
        try:
            raw = json.loads(path.read_text())
        except FileNotFoundError:
            continue  # stopped meanwhile
        except ValueError as why:
            raise ValueError(f"{path} is not a guest file: {why}") from why
        power = raw.get("is_off", False), raw.get("is_paused", False)
        yield GuestFile(host_name(folder), raw["uuid"], raw["attempt"], raw["name"], *power)


def _attempts_of(folder: Path) -> list[JournalledAttempt]:
    documents: dict[tuple[str, int], dict[str, Any]] = {}
    stages: dict[tuple[str, int], list[str]] = {}
    for batch in _batches(folder / "journal"):
        for record in batch:
            if "attempt" in record:
                document = record["attempt"]
                key = (document["uuid"], document["attempt"])
                documents[key] = document
            else:
                key = tuple(record["ref"])
                documents[key] |= {name: record[name] for name in ("stage", "reported") if name in record}
            trail = stages.setdefault(key, [])
            stage = documents[key]["stage"]
            if not trail or trail[-1] != stage:
                trail.append(stage)
    return [
        JournalledAttempt(
            host=host_name(folder),
            uuid=uuid,
            attempt=attempt,
            stages=tuple(stages[uuid, attempt]),
            name=document.get("name", ""),
            allocations=document.get("allocations", {}),
            outcome=document.get("outcome"),
            reason=document.get("reason", ""),
        )
        for (uuid, attempt), document in documents.items()
    ]


def _batches(path: Path) -> Sequence[list[dict[str, Any]]]:
    lines = path.read_bytes().split(b"\n")
    torn = lines.pop()
    contents = [_content(line) for line in lines]
    if not torn and contents and contents[-1] is None:
        contents.pop()
    if any(content is None for content in contents):
        number = contents.index(None) + 1
        raise ValueError(f"line {number} of the journal {path} is damaged")
    return contents[1:]


def _content(line: bytes) -> Any:
    checksum, _, text = line.partition(b" ")
    return json.loads(text) if checksum == b"%08x" % zlib.crc32(text) else None
