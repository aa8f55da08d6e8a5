# SPDX-License-Identifier: Apache-2.0
"""Execution of scripts with a wait for replicas."""

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.script_client import ScriptClient
from rpcapi.redis_failover.scripts import LuaScript


class TooFewReplicas(redis.RedisError):
    """Raised when too few replicas have a write in time. The write stands; a repeated call waits again."""

    def __init__(self, acknowledged: int, replicas: ReplicaAcknowledgement) -> None:
        self.acknowledged = acknowledged
        self.replicas = replicas
        super().__init__(f"{acknowledged} of {replicas.count} replicas had the write after {replicas.wait_ms} ms")

    def as_error(self, store: str) -> errors.NotReplicated:
        return errors.NotReplicated(
            store=store, acknowledged=self.acknowledged, needed=self.replicas.count, wait_ms=self.replicas.wait_ms
        )


def evaluate(
    client: ScriptClient,
    script: LuaScript,
    keys: Sequence[str],
    calls: Sequence[Sequence[Any]],
    *,
    replicas: ReplicaAcknowledgement,
    marker: str,
    commands: Sequence[Sequence[Any]] = (),
    returns_errors: bool = False,
) -> list[Any]:
    """Return the results of ``calls`` and ``commands``, sent as one packet; loads a missing script.

    Raises the first ResponseError after all commands have run, unless ``returns_errors``. After TooFewReplicas or
    another redis-py error it is unknown which calls were executed. ``marker`` is a key in the slot of ``keys``, written
    by the wait.
    """
    evalsha = ("EVALSHA", script.sha, len(keys), *keys)
    sent = [*((*evalsha, *arguments) for arguments in calls), *commands]
    packet = [*sent, *_wait_commands(replicas, marker)]
    answers = client.execute_together(packet)
    if any(isinstance(answer, NoScriptError) for answer in answers):  # A failover loses scripts.
        answers = client.execute_together([("SCRIPT", "LOAD", script.text), *packet])[1:]
    _check(answers[len(sent) :] if returns_errors else answers, replicas)
    return answers[: len(sent)]


def await_replicas(client: ScriptClient, replicas: ReplicaAcknowledgement, marker: str) -> None:
    _check(client.execute_together(_wait_commands(replicas, marker)), replicas)


def _wait_commands(replicas: ReplicaAcknowledgement, marker: str) -> list[Sequence[Any]]:
    """Return SET and WAIT: a repeated call must wait for an earlier connection's write too.

    Redis after 7.0 and Valkey wait only for the connection's own last write.
    """
    return [("SET", marker, ""), ("WAIT", replicas.count, replicas.wait_ms)] if replicas.count else []


def _check(answers: Sequence[Any], replicas: ReplicaAcknowledgement) -> None:
    """Raise the first error, or TooFewReplicas by the last answer, WAIT's."""
    for answer in answers:
        if isinstance(answer, redis.ResponseError):
            raise answer
    if replicas.count and answers[-1] < replicas.count:
        raise TooFewReplicas(answers[-1], replicas)
