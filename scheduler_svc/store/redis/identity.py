# SPDX-License-Identifier: Apache-2.0
"""Who the store is, and whether it may have forgotten something since it was last seen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import redis

from rpcapi import errors
from scheduler_svc.store.records import SCHEMA, Durability
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.scripts import load

Ask = Callable[..., Any]  # sends one command over one connection and returns its answer

NOBODY = "0" * 40  # what Redis tells as the replication id of a history that it never followed


@dataclass(frozen=True, slots=True)
class Noted:
    """What the partition remembers of the server that it was last served by."""

    run_id: str
    replid: str
    position: int
    epoch: int


class Identity:
    """Judges each new connection before a verb goes through it, so that no verb meets a changed store unawares.

    With ``durability`` "always" a server that restarted with all that this process has seen forgot nothing. That
    needs a single server: a promoted replica is another server, and may always lack the tail. Where others may take
    its place, ``durability`` is to be "everysec": it may have been away, and have been given what they had.
    """

    def __init__(self, partition: str, durability: Durability, log_length: int) -> None:
        self._meta = prefix(partition) + "meta"
        self._script = load("identity")
        self._keys = self._script.keys(partition)
        self._durability = durability
        self._log_length = log_length
        self._lock = Lock()
        self._seen_epoch = 0
        self._seen_position = 0
        self._bumped = False

    def saw(self, epoch: int, position: int) -> None:
        """Note how far the store was seen: a store that is behind that has forgotten something."""
        with self._lock:
            self._seen_epoch = max(self._seen_epoch, epoch)
            self._seen_position = max(self._seen_position, position)

    def take_bumped(self) -> bool:
        """Tell, once, whether a new epoch was begun from here."""
        with self._lock:
            bumped, self._bumped = self._bumped, False
            return bumped

    def check(self, ask: Ask) -> int:
        """Compare, note, and begin a new epoch where it must be; return the epoch.

        Raises redis.ReadOnlyError where the server is a replica: what it answers may be old; and IncompatibleObject
        where a newer gantt has made another form of the partition.
        """
        info = _fields(ask("INFO"))
        if info.get("role") != "master":
            raise redis.ReadOnlyError("the server is a replica now")
        with self._lock:  # before the store is read: what others see meanwhile must not make it look old
            seen_epoch, seen_position = self._seen_epoch, self._seen_position
        schema, *values = ask("HMGET", self._meta, "schema", "run_id", "replid", "position", "epoch")
        if int(schema or SCHEMA) > SCHEMA:
            raise errors.IncompatibleObject(name="the stored partition", version=int(schema), supported=SCHEMA)
        noted = _noted(values)
        behind = noted.epoch < seen_epoch or noted.position < seen_position
        if _is_same(info, noted) and not behind:
            self.saw(noted.epoch, noted.position)
            return noted.epoch
        arguments = [
            self._log_length,
            noted.run_id,
            noted.epoch,
            info["run_id"],
            info["master_replid"],
            int(behind or self._may_have_forgotten(info, noted)),
            seen_epoch,
            seen_position,
        ]
        answer = ask("EVAL", self._script.text, len(self._keys), *self._keys, *arguments)
        epoch, position, bumped = (int(float(one)) for one in answer)
        self.saw(epoch, position)
        with self._lock:
            self._bumped = self._bumped or bool(bumped)
        return epoch

    def _may_have_forgotten(self, info: Mapping[str, str], noted: Noted) -> bool:
        if noted.run_id == info["run_id"] and noted.epoch:
            # The same process: it forgot something if it was a replica in between.
            return _was_promoted(info)
        durable = self._durability == "always" and info.get("aof_enabled") == "1"
        return _was_promoted(info) or not durable


def _is_same(info: Mapping[str, str], noted: Noted) -> bool:
    return bool(noted.epoch) and (noted.run_id, noted.replid) == (info["run_id"], info["master_replid"])


def _was_promoted(info: Mapping[str, str]) -> bool:
    return info.get("master_replid2", NOBODY) != NOBODY


def _noted(values: list[str | None]) -> Noted:
    run_id, replid, position, epoch = values
    return Noted(run_id or "", replid or "", int(position or 0), int(epoch or 0))


def _fields(info: Any) -> dict[str, str]:
    """Read INFO: a text as the server sends it, or what redis-py made of it."""
    if isinstance(info, Mapping):
        return {str(key): str(value) for key, value in info.items()}
    pairs = (line.partition(":") for line in str(info).splitlines() if ":" in line)
    return {key: value.strip() for key, _colon, value in pairs}
