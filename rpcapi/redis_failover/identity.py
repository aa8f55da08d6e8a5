# SPDX-License-Identifier: Apache-2.0
"""Identity of a store's Redis server, and detection of forgotten acknowledged writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from rpcapi import errors
from rpcapi.high_water_mark import HighWaterMark
from rpcapi.redis_failover.scripts import LuaScript

Execute = Callable[..., Any]  # sends one command on one connection and returns its answer

SCHEMA = 1  # schema version of the stored data; later versions are rejected
NO_REPLICATION_ID = "0" * 40  # second replication id of a server that was never promoted


class EpochMissing(redis.RedisError):
    """Raised when a script finds a store without an epoch: its keys were deleted while the server ran."""


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """Location of the server's identity in a store: a hash, and the script that writes it (_identity.lua).

    ``counter``: Field of the hash that grows with the store's writes. ``subject``: Name of the store in errors.
    """

    hash_key: str
    counter: str
    script: LuaScript
    keys: Sequence[str]
    subject: str


class ServerIdentity(HighWaterMark):
    """Checker of the server on each new connection, before any verb is sent.

    ``is_durable``: appendfsync is always and no other server may take over. Then a restarted server that has everything
    this process observed has forgotten nothing. A promoted replica is another server and may lack the last writes; a
    former server may return with its data. ``arguments``: Further arguments of the script.
    """

    def __init__(self, record: IdentityRecord, *, is_durable: bool, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._record = record
        self._is_durable = is_durable
        self._arguments = dict(arguments or {})

    def check(self, execute: Execute) -> int:
        """Check and record the server's identity, begin a new epoch if necessary, and return the epoch.

        Raises redis.ReadOnlyError for a replica, whose answers may be old, and IncompatibleObject if a newer gantt
        wrote the store.
        """
        info = _fields(execute("INFO"))
        if info.get("role") != "master":
            raise redis.ReadOnlyError("the server is a replica, not the primary")
        # Before reading the store, so that concurrent observations of other threads cannot make it look old.
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
            connection.disconnect()  # like redis-py after its own errors
            raise

    def check_emptied(self, error: redis.ResponseError, execute: Execute) -> None:
        """If ``error`` says that the epoch is missing, begin one and raise EpochMissing for a retry."""
        if str(error).startswith("NOEPOCH"):
            self.check(execute)
            raise EpochMissing(str(error)) from error

    def _may_have_forgotten(self, info: Mapping[str, str], recorded_run_id: str) -> bool:
        if recorded_run_id == info["run_id"]:
            # The same server process has forgotten something only if it was a replica in between.
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
