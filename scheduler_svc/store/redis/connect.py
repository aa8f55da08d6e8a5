# SPDX-License-Identifier: Apache-2.0
"""Redis connections of a partition: timeouts, retries, and an identity check on each new connection."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import redis

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.messaging import green
from rpcapi.redis_failover import retries
from rpcapi.redis_failover.evaluate import TooFewReplicas, evaluate
from rpcapi.redis_failover.identity import EpochMissing
from rpcapi.redis_failover.script_client import ScriptClient, open_client
from rpcapi.redis_failover.scripts import LuaScript
from scheduler_svc.store import registrations
from scheduler_svc.store.certainty import RepeatCounter
from scheduler_svc.store.records import StoreOptions
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.scripts import RedisIdentity, load, script_keys

T = TypeVar("T")

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0  # timeout of an answer; a large partition's snapshot takes longer than any script
BLOCK_MS = 2_000  # longest blocking read
READER_SECONDS = BLOCK_MS / 1000 + 3  # timeout of a blocking read's answer
FOREIGN = "FOREIGN"  # script error: the caller is not the host's agent
NO_AGENT = "*"  # host_uuid of callers that are not agents; never checked
# Scripts that do not wait for replicas, because lost writes would be repeated or recomputed.
NO_REPLICA_WAIT = frozenset(
    {
        "alive",
        "beat",
        "begin",
        "clock",
        "decide",
        "expire",
        "hosts",
        "note_clock",
        "reap",
        "report",
    }
)


class RedisConnection:
    """Redis connections of one partition. Verbs without an answer are sent again, because they are idempotent."""

    def __init__(self, url: str, partition: str, repeats: RepeatCounter, options: StoreOptions) -> None:
        self.partition = partition
        self.head = prefix(partition)
        self._repeats = repeats
        self._replicas, self._wait_seconds = options["replicas"], options["wait_seconds"]
        self._limits = {"log_length": options["log_length"], "max_step_ms": options["max_step_ms"]}
        self.beats_decide = int(options["liveness"] == "beats")  # Heartbeats revive services.
        self.identity = RedisIdentity(partition, options["durability"], options["log_length"])
        self._client = self._open(url, self._wait_seconds or ANSWER_SECONDS)
        # Blocking reads use connections of their own, with a timeout short enough to notice a hanging server.
        self._reader = self._open(url, READER_SECONDS)

    def run(self, verb: str, /, rest: Iterable[Any] = (), **values: Any) -> Any:
        """Run the script of ``verb`` with ``values`` for its declared arguments, then ``rest``.

        Raises StoreUnavailable.
        """
        script = load(verb)
        keys = script_keys(script, self.partition, values.get("namespace", ""))
        arguments = self._arguments(script, rest, values)
        return self.run_with_retries(lambda: self._evaluate(script, keys, [arguments])[0], self._repeats.add)

    def run_each(
        self,
        verb: str,
        calls: Sequence[tuple[Iterable[Any], Mapping[str, Any]]],
        commands: Sequence[Sequence[Any]] = (),
    ) -> list[Any]:
        """Run the script once per (rest, values) in ``calls``, then ``commands``, all sent in one packet.

        Returns one result per call and command: a failed one gives its ResponseError and is not retried. Raises
        StoreUnavailable if it is unknown which calls ran.
        """
        script = load(verb)
        keys = script_keys(script, self.partition)
        arguments = [self._arguments(script, rest, values) for rest, values in calls]
        attempt = functools.partial(self._evaluate, script, keys, arguments, commands=commands, returns_errors=True)
        return self.run_with_retries(attempt, self._repeats.add)

    def _arguments(self, script: LuaScript, rest: Iterable[Any], values: Mapping[str, Any]) -> list[Any]:
        return script.arguments(rest, **self._limits, **values)

    def read(self, *commands: Sequence[Any]) -> list[Any]:
        """Run ``commands``, each (command, key word, *arguments), in one transaction; return their results."""

        def attempt() -> list[Any]:
            pipeline = self._client.pipeline(transaction=True)
            for name, *rest in commands:
                pipeline.execute_command(name, *(self.head + word for word in rest[:1]), *rest[1:])
            return pipeline.execute()

        return self.run_with_retries(attempt)

    def wait(self, read: Callable[[redis.Redis], T]) -> T:
        """Run a blocking read, without retries."""
        try:
            return read(self._reader)
        except redis.RedisError as error:
            raise self._unavailable(error) from error

    def check_identity(self) -> int:
        return self.run_with_retries(self._check_identity)

    def run_with_retries(self, attempt: Callable[[], T], on_retry: Callable[[], None] = lambda: None) -> T:
        """Run ``attempt``, and repeat it while no answer comes. Raises StoreUnavailable after the last try."""
        try:
            return retries.run_with_retries(attempt, EpochMissing, wait_seconds=self._wait_seconds, on_retry=on_retry)
        except redis.RedisError as error:
            raise self._unavailable(error) from error

    def close(self) -> None:
        self._client.close()
        self._reader.close()

    def _check_identity(self) -> int:
        try:
            return self.identity.check(self._client.execute_command)
        except redis.ReadOnlyError:
            # Drop the connections to a former primary, so that the next attempt locates the new primary.
            self._client.connection_pool.disconnect(inuse_connections=False)
            raise

    def _open(self, url: str, answer_seconds: float) -> ScriptClient:
        # Any text with the partition's hash tag locates the cluster slot of all its keys.
        return open_client(
            url,
            self.head,
            "store",
            self.identity,
            on_green_threads=green.is_patched(),
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=answer_seconds,
        )

    def _unavailable(self, error: redis.RedisError) -> errors.StoreUnavailable:
        # Name the partition, because other partitions may be available.
        if isinstance(error, TooFewReplicas):
            return error.as_error(f"The store of partition {self.partition!r}")
        return errors.StoreUnavailable(why=f"partition {self.partition!r}: {type(error).__name__}: {error}")

    def _evaluate(
        self, script: LuaScript, keys: Sequence[str], calls: Sequence[Sequence[Any]], **options: Any
    ) -> list[Any]:
        replicas = ReplicaAcknowledgement() if script.name in NO_REPLICA_WAIT else self._replicas
        try:
            marker = self.head + "acknowledged"
            return evaluate(self._client, script, keys, calls, replicas=replicas, marker=marker, **options)
        except redis.ResponseError as error:
            code, _space, owner = str(error).partition(" ")
            if code == FOREIGN:
                owner_uuid, _space, host = owner.partition(" ")
                raise registrations.foreign(host, registrations.TakeoverObstacle.OWNED, owner_uuid) from None
            self.identity.check_emptied(error, self._client.execute_command)
            raise


def caller(host_uuid: str | None) -> str:
    return NO_AGENT if host_uuid is None else host_uuid
