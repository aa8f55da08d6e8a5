# SPDX-License-Identifier: Apache-2.0
"""Identity of the Redis server of a store, and detection that it may have forgotten acknowledged writes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from rpcapi import errors
from rpcapi.high_water_mark import HighWaterMark
from rpcapi.redis_failover.scripts import LuaScript

Execute = Callable[..., Any]  # sends one command over one connection and returns its answer

SCHEMA = 1  # of the stored data; a store of a later one is rejected
NO_REPLICATION_ID = "0" * 40  # Redis' second replication id on a server that was never promoted


class EpochMissing(redis.RedisError):
    """Raised when a script finds a store without an epoch: its keys were deleted while the server kept running."""


@dataclass(frozen=True, slots=True)
class IdentityRecord:
    """Where a store records its server: a hash, and the script ``identity`` that writes it (see _identity.lua).

    ``counter`` is the field of the hash that grows with the store's writes; ``subject`` names the store in errors.
    """

    hash_key: str
    counter: str
    script: LuaScript
    keys: Sequence[str]
    subject: str


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """The identity of the server that last served the store, as recorded in it."""

    run_id: str
    replid: str
    position: int
    epoch: int


class ServerIdentity(HighWaterMark):
    """Checks the server on each new connection, before any verb is sent through it.

    If it ``is_durable`` (appendfsync always), a restarted server that has everything this process observed has
    forgotten nothing. That holds for a single server only: a promoted replica is another server, and may lack the last
    writes. Where other servers may take over it must be false: a server may come back with their data. ``arguments``
    are those of the script besides the identity's.
    """

    def __init__(self, record: IdentityRecord, *, is_durable: bool, arguments: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._record = record
        self._is_durable = is_durable
        self._arguments = dict(arguments or {})

    def check(self, execute: Execute) -> int:
        """Compare and record the server's identity, begin a new epoch if necessary, and return the epoch.

        Raises redis.ReadOnlyError where the server is a replica, whose answers may be old, and IncompatibleObject
        where a newer gantt has written the store.
        """
        info = _fields(execute("INFO"))
        if info.get("role") != "master":
            raise redis.ReadOnlyError("the server is a replica, not the primary")
        # Before the store is read: what other threads observe meanwhile must not make it look old.
        observed_epoch, observed_position = self.high_water_mark
        names = ("schema", "run_id", "replid", self._record.counter, "epoch")
        schema, *values = execute("HMGET", self._record.hash_key, *names)
        if int(schema or SCHEMA) > SCHEMA:
            raise errors.IncompatibleObject(name=self._record.subject, version=int(schema), supported=SCHEMA)
        recorded = _recorded_server(values)
        behind = recorded.epoch < observed_epoch or recorded.position < observed_position
        if _is_same(info, recorded) and not behind:
            self.observe(recorded.epoch, recorded.position)
            return recorded.epoch
        script, keys = self._record.script, self._record.keys
        arguments = script.arguments(
            **self._arguments,
            read_run_id=recorded.run_id,
            read_epoch=recorded.epoch,
            run_id=info["run_id"],
            replid=info["master_replid"],
            may_have_forgotten=int(behind or self._may_have_forgotten(info, recorded)),
            observed_epoch=observed_epoch,
            observed_position=observed_position,
        )
        answer = execute("EVAL", script.text, len(keys), *keys, *arguments)
        epoch, position, changed = (int(float(value)) for value in answer)
        self.observe(epoch, position)
        if changed:
            self.note_epoch_change()
        return epoch

    def check_connection(self, connection: Any) -> None:
        """Authenticate a new connection, and check its server before any verb is sent through it."""
        connection.on_connect()

        def execute(*command: Any) -> Any:
            connection.send_command(*command)
            return connection.read_response()

        try:
            self.check(execute)
        except errors.GanttError:
            connection.disconnect()  # as redis-py does after errors of its own
            raise

    def check_emptied(self, error: redis.ResponseError, execute: Execute) -> None:
        """Begin an epoch and raise EpochMissing, for a retry, where ``error`` is a script's answer of that."""
        if str(error).startswith("NOEPOCH"):
            self.check(execute)
            raise EpochMissing(str(error)) from error

    def _may_have_forgotten(self, info: Mapping[str, str], recorded: RecordedServer) -> bool:
        if recorded.run_id == info["run_id"] and recorded.epoch:
            # The same server process: it may have forgotten something only if it was a replica in between.
            return _was_promoted(info)
        durable = self._is_durable and info.get("aof_enabled") == "1"
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
