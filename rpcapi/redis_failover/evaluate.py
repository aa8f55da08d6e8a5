# SPDX-License-Identifier: Apache-2.0
"""Script execution that waits until enough replicas have the writes."""

from collections.abc import Iterator, Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement
from rpcapi.redis_failover.script_client import ScriptClient


class TooFewReplicas(redis.RedisError):
    """Raised when too few replicas have a write in time. The write stands; a repeated call waits again."""

    def __init__(self, acknowledged: int, replicas: ReplicaAcknowledgement) -> None:
        self.acknowledged = acknowledged
        self.replicas = replicas
        super().__init__(f"{acknowledged} of {replicas.count} replicas had the write after {replicas.wait_ms} ms")

    def as_error(self, store: str) -> errors.NotReplicated:
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
    """Return the script's result, loading the script if the server lacks it; raises redis-py's errors.

    With ``replicas.count``, WAIT is sent in the same round trip and TooFewReplicas may be raised; ``marker`` is a key
    in the slot of the script's keys.
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
    """Return the result per call, sent together, like `evaluate`; raises the first error after all have run."""
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
    """Return the results of ``calls``, then of ``commands``, sent as one packet; missing scripts are loaded.

    A failed call or command yields its ResponseError. After any other redis-py error or TooFewReplicas it is unknown
    which calls were executed.
    """
    waiting = _wait_commands(replicas, marker)
    results = _send(client, text, [*_calls(sha, keys, calls), *commands, *waiting])
    count = len(calls) + len(commands)
    _raise_first_error(results[count:])
    _check_acknowledged(results, replicas)
    return results[:count]


def await_replicas(client: ScriptClient, replicas: ReplicaAcknowledgement, marker: str) -> None:
    answers = client.execute_together(_wait_commands(replicas, marker))
    _raise_first_error(answers)
    _check_acknowledged(answers, replicas)


def _calls(sha: str, keys: Sequence[str], calls: Sequence[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    return (("EVALSHA", sha, len(keys), *keys, *arguments) for arguments in calls)


def _wait_commands(replicas: ReplicaAcknowledgement, marker: str) -> list[Sequence[Any]]:
    """Return the commands that wait for replicas, if required.

    A repeated call that writes nothing must wait for the original write of another connection. Redis up to 7.0 waits
    for the offset at the connection's last command, later versions and Valkey for its own last write, so each WAIT
    follows a write.
    """
    return [("SET", marker, ""), ("WAIT", replicas.count, replicas.wait_ms)] if replicas.count else []


def _send(client: ScriptClient, text: str, packet: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the answers to a packet, in which a missing script is loaded: a failover may change the server."""
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
