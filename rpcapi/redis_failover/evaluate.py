# SPDX-License-Identifier: Apache-2.0
"""Runs a script and waits until enough replicas have its writes."""

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.script_client import SCRIPT, ScriptClient


class TooFewReplicas(redis.RedisError):
    """Raised when too few replicas have a write in time. The write stands; a repetition waits for them again."""

    def __init__(self, acknowledged: int, replicas: ReplicaAcknowledgement) -> None:
        self.acknowledged = acknowledged
        self.replicas = replicas
        super().__init__(f"{acknowledged} of {replicas.count} replicas had the write after {replicas.wait_ms} ms")

    def as_error(self, store: str) -> errors.NotReplicated:
        """Return the error for callers; ``store`` names the store in it."""
        return errors.NotReplicated(
            store=store,
            acknowledged=self.acknowledged,
            needed=self.replicas.count,
            wait_ms=self.replicas.wait_ms,
        )


def evaluate(
    client: redis.Redis,
    sha: str,
    text: str,
    keys: Sequence[str],
    arguments: Sequence[Any],
    *,
    replicas: ReplicaAcknowledgement,
    marker: str,
) -> Any:
    """Return the script's result; loads a script that the server does not know. Raises redis-py's errors.

    With ``replicas.count`` also raises TooFewReplicas: WAIT is sent with the script, in the same round trip, as in
    `await_replicas`. ``marker`` is a key in the slot of the script's keys.
    """

    if replicas.count:
        return evaluate_all(client, sha, text, keys, [arguments], replicas=replicas, marker=marker)[0]
    try:
        return client.execute_command(SCRIPT, sha, len(keys), *keys, *arguments)
    except NoScriptError:
        # Loads it where it runs: another connection could lead to another server.
        return client.eval(text, len(keys), *keys, *arguments)


def evaluate_all(
    client: redis.Redis,
    sha: str,
    text: str,
    keys: Sequence[str],
    calls: Sequence[Sequence[Any]],
    *,
    replicas: ReplicaAcknowledgement,
    marker: str,
) -> list[Any]:
    """Return the results of the script for the arguments of each of ``calls``, sent together; otherwise as `evaluate`.

    Raises the first error; the other calls are carried out nevertheless.
    """

    def attempt() -> list[Any]:
        pipeline = client.pipeline(transaction=False)
        for arguments in calls:
            pipeline.evalsha(sha, len(keys), *keys, *arguments)
        if replicas.count:
            return _execute_and_wait(pipeline, replicas, marker)[: len(calls)]
        return _execute(pipeline)

    try:
        return attempt()
    except NoScriptError:
        client.script_load(text)
        return attempt()


def evaluate_each(
    client: ScriptClient,
    sha: str,
    text: str,
    keys: Sequence[str],
    calls: Sequence[Sequence[Any]],
    *,
    replicas: ReplicaAcknowledgement,
    marker: str,
    commands: Sequence[Sequence[Any]] = (),
) -> list[Any]:
    """Return the results of the script for the arguments of each of ``calls``, then of ``commands``, of one packet.

    The result of a call or command that fails is its ResponseError. A script that the server does not know is loaded.
    Raises redis-py's other errors, and TooFewReplicas: then it is unknown which of the calls were carried out.
    """
    packet: list[Sequence[Any]] = [*((SCRIPT, sha, len(keys), *keys, *arguments) for arguments in calls), *commands]
    if replicas.count:
        packet += _wait_commands(replicas, marker)
    results = client.execute_together(packet)
    if any(isinstance(result, NoScriptError) for result in results):
        client.script_load(text)
        results = client.execute_together(packet)
    if not replicas.count:
        return results
    *results, marked, acknowledged = results
    for answer in (marked, acknowledged):
        if isinstance(answer, redis.ResponseError):
            raise answer
    _check_acknowledged(acknowledged, replicas)
    return results


def await_replicas(client: redis.Redis, replicas: ReplicaAcknowledgement, marker: str) -> None:
    """Return when enough replicas have all writes of this server so far; raises TooFewReplicas."""
    _execute_and_wait(client.pipeline(transaction=False), replicas, marker)


def _execute_and_wait(pipeline: redis.client.Pipeline, replicas: ReplicaAcknowledgement, marker: str) -> list[Any]:
    """Return the answers to the pipeline's commands when enough replicas have all writes of this server so far."""
    for command in _wait_commands(replicas, marker):
        pipeline.execute_command(*command)
    answers = _execute(pipeline)
    _check_acknowledged(answers[-1], replicas)
    return answers


def _wait_commands(replicas: ReplicaAcknowledgement, marker: str) -> list[Sequence[Any]]:
    """Return the commands that wait for replicas.

    A repetition that writes nothing must wait for the original write, made by another connection. Redis up to 7.0
    waits for the offset at the connection's last command, but newer ones and Valkey for that of its own last write. So
    each WAIT follows a write.
    """
    return [("SET", marker, ""), ("WAIT", replicas.count, replicas.wait_ms)]


def _check_acknowledged(acknowledged: int, replicas: ReplicaAcknowledgement) -> None:
    if acknowledged < replicas.count:
        raise TooFewReplicas(acknowledged, replicas)


def _execute(pipeline: redis.client.Pipeline) -> list[Any]:
    """Return the answers to the pipeline's commands; raises the first error among them."""
    answers: list[Any] = pipeline.execute(raise_on_error=False)
    for answer in answers:
        if isinstance(answer, redis.RedisError):
            raise answer
    return answers
