# SPDX-License-Identifier: Apache-2.0
"""Identity of the Redis server of a partition, and detection that it may have forgotten acknowledged writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import redis

from rpcapi import errors
from scheduler_svc.store.records import SCHEMA, Durability
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.scripts import load, script_keys

Execute = Callable[..., Any]  # sends one command over one connection and returns its answer

NO_REPLICATION_ID = "0" * 40  # Redis' second replication id on a server that was never promoted


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """The identity of the server that last served the partition, as recorded in it."""

    run_id: str
    replid: str
    position: int
    epoch: int


class RedisIdentity:
    """Checks the server on each new connection, before any verb is sent through it.

    With ``durability`` "always" a restarted server that has everything this process observed has forgotten nothing.
    That holds for a single server only: a promoted replica is another server, and may lack the last writes. Where
    other servers may take over, ``durability`` must be "everysec": a server may come back with their data.
    """

    def __init__(self, partition: str, durability: Durability, log_length: int) -> None:
        self._meta = prefix(partition) + "meta"
        self._script = load("identity")
        self._keys = script_keys(self._script, partition)
        self._durability = durability
        self._log_length = log_length
        self._lock = Lock()
        self._observed_epoch = 0
        self._observed_position = 0
        self._epoch_changed = False

    def observe(self, epoch: int, position: int) -> None:
        """Record the newest observed epoch and position: a store that is behind them has forgotten something."""
        with self._lock:
            self._observed_epoch = max(self._observed_epoch, epoch)
            self._observed_position = max(self._observed_position, position)

    def take_epoch_change(self) -> bool:
        """Return whether this process began a new epoch since the last call."""
        with self._lock:
            changed, self._epoch_changed = self._epoch_changed, False
            return changed

    def check(self, execute: Execute) -> int:
        """Compare and record the server's identity, begin a new epoch if necessary, and return the epoch.

        Raises redis.ReadOnlyError where the server is a replica, whose answers may be old, and IncompatibleObject
        where a newer gantt has written the partition.
        """
        info = _fields(execute("INFO"))
        if info.get("role") != "master":
            raise redis.ReadOnlyError("the server is a replica now")
        with self._lock:  # before the store is read: what other threads observe meanwhile must not make it look old
            observed_epoch, observed_position = self._observed_epoch, self._observed_position
        schema, *values = execute("HMGET", self._meta, "schema", "run_id", "replid", "position", "epoch")
        if int(schema or SCHEMA) > SCHEMA:
            raise errors.IncompatibleObject(name="the stored partition", version=int(schema), supported=SCHEMA)
        recorded = _recorded_server(values)
        behind = recorded.epoch < observed_epoch or recorded.position < observed_position
        if _is_same(info, recorded) and not behind:
            self.observe(recorded.epoch, recorded.position)
            return recorded.epoch
        arguments = self._script.arguments(
            log_length=self._log_length,
            read_run_id=recorded.run_id,
            read_epoch=recorded.epoch,
            run_id=info["run_id"],
            replid=info["master_replid"],
            may_have_forgotten=int(behind or self._may_have_forgotten(info, recorded)),
            observed_epoch=observed_epoch,
            observed_position=observed_position,
        )
        answer = execute("EVAL", self._script.text, len(self._keys), *self._keys, *arguments)
        epoch, position, changed = (int(float(value)) for value in answer)
        self.observe(epoch, position)
        with self._lock:
            self._epoch_changed = self._epoch_changed or bool(changed)
        return epoch

    def _may_have_forgotten(self, info: Mapping[str, str], recorded: RecordedServer) -> bool:
        if recorded.run_id == info["run_id"] and recorded.epoch:
            # The same server process: it may have forgotten something only if it was a replica in between.
            return _was_promoted(info)
        durable = self._durability == "always" and info.get("aof_enabled") == "1"
        return _was_promoted(info) or not durable


def _is_same(info: Mapping[str, str], recorded: RecordedServer) -> bool:
    return bool(recorded.epoch) and (recorded.run_id, recorded.replid) == (info["run_id"], info["master_replid"])


def _was_promoted(info: Mapping[str, str]) -> bool:
    return info.get("master_replid2", NO_REPLICATION_ID) != NO_REPLICATION_ID


def _recorded_server(values: list[str | None]) -> RecordedServer:
    run_id, replid, position, epoch = values
    return RecordedServer(run_id or "", replid or "", int(position or 0), int(epoch or 0))


def _fields(info: Any) -> dict[str, str]:
    """Return the fields of an INFO reply, a string or the mapping that redis-py parsed."""
    if isinstance(info, Mapping):
        return {str(key): str(value) for key, value in info.items()}
    pairs = (line.partition(":") for line in str(info).splitlines() if ":" in line)
    return {key: value.strip() for key, _colon, value in pairs}
