# SPDX-License-Identifier: Apache-2.0
"""Identity of a store's Redis server, to detect lost acknowledged writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from rpcapi import errors
from rpcapi.high_water_mark import HighWaterMark
from rpcapi.redis_failover.scripts import LuaScript

Execute = Callable[..., Any]  # runs a command on one connection

SCHEMA = 1  # schema version of the stored data; higher versions are rejected
NO_REPLICATION_ID = "0" * 40  # master_replid2 of a server that was never promoted


class EpochMissing(redis.RedisError):
    """Raised when a script finds no epoch: the store's keys were deleted while the server ran."""


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """Hash of a store with the server's identity, and the script that writes it (_identity.lua)."""

    hash_key: str
    counter: str  # field of the hash that grows with the store's writes
    script: LuaScript
    keys: Sequence[str]
    subject: str  # name of the store in errors


class ServerIdentity(HighWaterMark):
    """Checker of the server on each new connection, before any other command.

    ``is_durable`` means appendfsync always and no failover: a restarted server that has everything this process
    observed has lost nothing. A promoted replica may lack the last writes; a former server may return with its data.
    """

    def __init__(self, record: IdentityRecord, *, is_durable: bool, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._record = record
        self._is_durable = is_durable
        self._arguments = dict(arguments or {})

    def check(self, execute: Execute) -> int:
        """Check the server's identity, begin a new epoch if it may have lost writes, and return the epoch.

        Raises redis.ReadOnlyError for a replica, whose data may be old, and IncompatibleObject if a newer gantt wrote
        the store.
        """
        info = _fields(execute("INFO"))
        if info.get("role") != "master":
            raise redis.ReadOnlyError("the server is a replica, not the primary")
        # Read before the store, or another thread's later observation would make the store look old.
        observed_epoch, observed_position = self.high_water_mark
        names = ("schema", "run_id", "replid", self._record.counter, "epoch")
        schema, *values = execute("HMGET", self._record.hash_key, *names)
        if int(schema or SCHEMA) > SCHEMA:
            raise errors.IncompatibleObject(name=self._record.subject, version=int(schema), supported=SCHEMA)
        run_id, replid = (text or "" for text in values[:2])
        position, epoch = (int(number or 0) for number in values[2:])
        behind = epoch < observed_epoch or position < observed_position
        if epoch and not behind and run_id == info["run_id"] and replid == info["master_replid"]:
            self.observe(epoch, position)
            return epoch
        script, keys = self._record.script, self._record.keys
        arguments = script.arguments(
            **self._arguments,
            read_run_id=run_id,
            read_epoch=epoch,
            run_id=info["run_id"],
            replid=info["master_replid"],
            may_have_forgotten=int(behind or self._may_have_forgotten(info, run_id if epoch else "")),
            observed_epoch=observed_epoch,
            observed_position=observed_position,
        )
        answer = execute("EVAL", script.text, len(keys), *keys, *arguments)
        new_epoch, new_position, changed = (int(float(value)) for value in answer)
        self.observe(new_epoch, new_position)
        if changed:
            self.note_epoch_change()
        return new_epoch

    def check_connection(self, connection: Any) -> None:
        connection.on_connect()

        def execute(*command: Any) -> Any:
            connection.send_command(*command)
            return connection.read_response()

        try:
            self.check(execute)
        except errors.GanttError:
            connection.disconnect()  # redis-py does the same after its own errors.
            raise

    def check_emptied(self, error: redis.ResponseError, execute: Execute) -> None:
        """If ``error`` says that the epoch is missing, begin one and raise EpochMissing for a retry."""
        if str(error).startswith("NOEPOCH"):
            self.check(execute)
            raise EpochMissing(str(error)) from error

    def _may_have_forgotten(self, info: Mapping[str, str], recorded_run_id: str) -> bool:
        if recorded_run_id == info["run_id"]:
            # The same process lost writes only if it was a replica in the meantime.
            return _was_promoted(info)
        durable = self._is_durable and info.get("aof_enabled") == "1"
        return _was_promoted(info) or not durable


def _was_promoted(info: Mapping[str, str]) -> bool:
    return info.get("master_replid2", NO_REPLICATION_ID) != NO_REPLICATION_ID


def _fields(info: Any) -> dict[str, str]:
    if isinstance(info, Mapping):
        return {str(key): str(value) for key, value in info.items()}
    pairs = (line.partition(":") for line in str(info).splitlines() if ":" in line)
    return {key: value.strip() for key, _colon, value in pairs}
