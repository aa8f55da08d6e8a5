# SPDX-License-Identifier: Apache-2.0
"""Runs a script and waits until enough replicas have its writes."""

from collections.abc import Iterator, Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.script_client import ScriptClient


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
    client: ScriptClient,
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
    return evaluate_all(client, sha, text, keys, [arguments], replicas=replicas, marker=marker)[0]


def evaluate_all(
    client: ScriptClient,
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
    waiting = _wait_commands(replicas, marker)
    results = _send(client, text, [*_calls(sha, keys, calls), *waiting])
    _raise_first_error(results)
    _check_acknowledged(results, replicas)
    return results[: len(calls)]


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
    waiting = _wait_commands(replicas, marker)
    results = _send(client, text, [*_calls(sha, keys, calls), *commands, *waiting])
    count = len(calls) + len(commands)
    _raise_first_error(results[count:])
    _check_acknowledged(results, replicas)
    return results[:count]


def await_replicas(client: ScriptClient, replicas: ReplicaAcknowledgement, marker: str) -> None:
    """Return when enough replicas have all writes of this server so far; raises TooFewReplicas."""
    answers = client.execute_together(_wait_commands(replicas, marker))
    _raise_first_error(answers)
    _check_acknowledged(answers, replicas)


def _calls(sha: str, keys: Sequence[str], calls: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    return (("EVALSHA", sha, len(keys), *keys, *arguments) for arguments in calls)


def _wait_commands(replicas: ReplicaAcknowledgement, marker: str) -> list[Sequence[Any]]:
    """Return the commands that wait for replicas, if any must be waited for.

    A repetition that writes nothing must wait for the original write, made by another connection. Redis up to 7.0
    waits for the offset at the connection's last command, but newer ones and Valkey for that of its own last write. So
    each WAIT follows a write.
    """
    return [("SET", marker, ""), ("WAIT", replicas.count, replicas.wait_ms)] if replicas.count else []


def _send(client: ScriptClient, text: str, packet: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the answers to a packet. An unknown script is loaded where it runs: a fail-over may change the server."""
    answers = client.execute_together(packet)
    if any(isinstance(answer, NoScriptError) for answer in answers):
        answers = client.execute_together([("SCRIPT", "LOAD", text), *packet])[1:]
    return answers


def _raise_first_error(answers: Sequence[Any]) -> None:
    for answer in answers:
        if isinstance(answer, redis.ResponseError):
            raise answer


def _check_acknowledged(answers: Sequence[Any], replicas: ReplicaAcknowledgement) -> None:
    if replicas.count and answers[-1] < replicas.count:
        raise TooFewReplicas(answers[-1], replicas)
