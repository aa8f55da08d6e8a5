# SPDX-License-Identifier: Apache-2.0
"""The checker's own readers of stored state: agents' guests and journals, Redis's partitions and records."""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import redis

from devstack.lab.chaos.final_state import (
    GuestFile,
    InstanceState,
    JournalledAttempt,
    MigrationState,
    StoredClaim,
    StoredGroup,
    StoredPartition,
)
from scheduler_svc.store.tombstones import state_of

INSTANCES = "gantt:{conductor}:instances"
MIGRATIONS = "gantt:{conductor}:migrations"


def read_guests(state_folder: Path) -> list[GuestFile]:
    return [guest for folder in host_folders(state_folder) for guest in _guests_of(folder)]


def host_folders(state_folder: Path) -> list[Path]:
    return sorted(path.parent for path in state_folder.glob("*/journal"))


def host_name(folder: Path) -> str:
    return unquote(folder.name)


def read_attempts(state_folder: Path) -> list[JournalledAttempt]:
    """Return the attempts in an agent's journals, without a torn last line. Raises ValueError for other damage."""
    return [attempt for folder in host_folders(state_folder) for attempt in _attempts_of(folder)]


def _guests_of(folder: Path) -> Iterator[GuestFile]:
    for path in sorted((folder / "guests").glob("*.json")):
        if path.name.startswith("."):
            continue
        guest = read_guest(path)
        if guest is not None:
            yield guest


def read_guest(path: Path) -> GuestFile | None:
    try:
        raw = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as why:
        raise ValueError(f"{path} is not a guest file: {why}") from why
    power = raw.get("is_off", False), raw.get("is_paused", False)
    return GuestFile(host_name(path.parents[1]), raw["uuid"], raw["attempt"], raw["name"], *power)


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


def read_partition(client: redis.Redis, name: str) -> StoredPartition:
    """Read a partition in one transaction; an empty store has epoch 0."""
    prefix = f"gantt:{{p:{name}}}:"
    pipeline = client.pipeline(transaction=True)
    for word in ("meta", "claims", "capacity", "used", "ended"):
        pipeline.hgetall(prefix + word)
    pipeline.time()
    meta, claims, capacity, used, ended, clock = pipeline.execute()
    server_ms = clock[0] * 1000 + clock[1] // 1000
    return StoredPartition(
        name=name,
        epoch=int(meta.get("epoch", 0)),
        time_ms=_time_ms(meta, server_ms),
        claims=[_claim(json.loads(text)) for text in claims.values()],
        capacity={provider: _capacity(json.loads(text)) for provider, text in capacity.items()},
        used={provider: json.loads(text) for provider, text in used.items()},
        ended={consumer: _ends(json.loads(text)) for consumer, text in ended.items()},
    )


def read_instances(client: redis.Redis) -> dict[str, InstanceState]:
    return {str(uuid): _instance(str(uuid), str(text)) for uuid, text in client.hgetall(INSTANCES).items()}


def read_migrations(client: redis.Redis) -> dict[str, MigrationState]:
    return {str(uuid): _migration(str(uuid), str(text)) for uuid, text in client.hgetall(MIGRATIONS).items()}


def _time_ms(meta: Mapping[str, str], server_ms: int) -> int:
    """Return the partition's time: the recorded time plus the server clock's advance since then."""
    if "time" not in meta:
        return server_ms
    return int(meta["time"]) + max(0, server_ms - int(meta["clock"]))


def _claim(raw: Mapping[str, Any]) -> StoredClaim:
    group, instance = raw.get("group"), raw.get("instance")
    return StoredClaim(
        consumer=instance or raw["consumer"],
        attempt=raw["attempt"],
        state=raw["state"],
        host=raw["host"],
        allocations=raw["allocations"],
        deadline_ms=raw.get("deadline_ms"),
        group=StoredGroup(group["id"], group["policy"], int(group["max_per_host"])) if group else None,
        source_of=raw["consumer"] if instance else None,
    )


def _capacity(raw: Mapping[str, Any]) -> dict[str, int]:
    return {name: amount[0] if isinstance(amount, list) else amount for name, amount in raw.items()}


def _ends(raw: Mapping[str, Any]) -> dict[int, str]:
    return {int(attempt): state_of(tombstone) for attempt, tombstone in raw.items() if attempt.isdigit()}


def _instance(uuid: str, text: str) -> InstanceState:
    header, _, body = text.partition("\n")
    document = json.loads(body)
    optional = document.get("attempt", 1), document.get("host"), document.get("reason")
    return InstanceState(uuid, header.split(" ")[1], *optional)


def _migration(uuid: str, text: str) -> MigrationState:
    document = json.loads(text.partition("\n")[2])
    return MigrationState(uuid, document["instance"], document["status"], document.get("reason"))
