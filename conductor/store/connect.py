# SPDX-License-Identifier: Apache-2.0
"""Redis connection of the conductors' store: time-outs, bounded retries, error translation."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis

from conductor.store.keys import PREFIX, key
from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.messaging import green
from rpcapi.redis_failover import retries
from rpcapi.redis_failover.evaluate import TooFewReplicas, await_replicas, evaluate
from rpcapi.redis_failover.identity import EpochMissing, ServerIdentity
from rpcapi.redis_failover.script_client import ScriptClient, open_client
from rpcapi.redis_failover.scripts import LuaScript

T = TypeVar("T")

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
# Twice the threads that may use the store at a time: ScriptClient keeps separate connections for scripts.
CONNECTIONS = 256
# Scripts that do not wait for replicas: a lost lease is taken again, and an older stamp is only weaker evidence.
UNACKNOWLEDGED = frozenset({"load", "purge", "release", "stamp", "take"})

_NO_WRITES = re.compile(r"\b(MISCONF|OOM)\b")


class ConductorConnection:
    """Connection pool to the Redis of the records.

    Calls without an answer are repeated: every verb is idempotent or a compare-and-set. Raises BadConfiguration for an
    invalid URL.
    """

    def __init__(self, url: str, identity: ServerIdentity, replicas: ReplicaAcknowledgement | None = None) -> None:
        self.identity = identity
        self._replicas = replicas or ReplicaAcknowledgement()
        self._client = open_client(
            url,
            PREFIX,
            "conductor_store",
            identity,
            on_green_threads=green.is_patched(),
            kind=redis.BlockingConnectionPool,
            max_connections=CONNECTIONS,
            timeout=ANSWER_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
        )

    def run(self, script: LuaScript, arguments: Sequence[str | int]) -> Any:
        """Run a script; return its answer once enough replicas have acknowledged. Raises StoreUnavailable."""
        replicas = ReplicaAcknowledgement() if script.name in UNACKNOWLEDGED else self._replicas
        keys = [key(word) for word in script.words]

        def command(client: ScriptClient) -> Any:
            try:
                return evaluate(client, script, keys, [arguments], replicas=replicas, marker=key("acknowledged"))[0]
            except redis.ResponseError as error:
                self.identity.check_emptied(error, client.execute_command)
                raise

        return self.execute(command)

    def check_replicas(self) -> None:
        """Raise NotReplicated if too few replicas have all writes of this server so far."""
        if self._replicas.count:
            self.execute(lambda client: await_replicas(client, self._replicas, key("acknowledged")))

    def epoch(self) -> int:
        """Return the newest epoch that this process observed; connect first if necessary."""
        if not self.identity.high_water_mark[0]:
            self.execute(lambda client: client.ping())
        return self.identity.high_water_mark[0]

    def execute(self, command: Callable[[ScriptClient], T]) -> T:
        """Return the result of ``command``; raises StoreUnavailable if the caller may retry."""
        try:
            return retries.run_with_retries(lambda: command(self._client), EpochMissing)
        except redis.exceptions.NoPermissionError as error:
            raise errors.StoreUnavailable(why=f"its user lacks a permission: {error}") from error
        except redis.exceptions.OutOfMemoryError as error:
            raise errors.StoreUnavailable(why=f"it is out of memory: {error}") from error
        except TooFewReplicas as error:
            raise error.as_error("The conductors' store") from error
        except redis.RedisError as error:
            if retries.is_retryable(error) or _refuses_writes(error):
                raise errors.StoreUnavailable(why=str(error) or type(error).__name__) from error
            raise

    def close(self) -> None:
        self._client.close()


def _refuses_writes(error: redis.RedisError) -> bool:
    """Return whether the server lacks memory or disk for writes.

    Before version 7, Redis puts the code into the middle of a script's error, where redis-py does not find it.
    """
    return _NO_WRITES.search(str(error)) is not None
