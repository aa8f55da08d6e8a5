# SPDX-License-Identifier: Apache-2.0
"""Runs a script and waits until enough replicas have its writes."""

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi import errors
from rpcapi.conf.replicas import ReplicaAcknowledgement


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
) -> Any:
    """Return the script's result; loads a script that the server does not know. Raises redis-py's errors.

    With ``replicas.count`` also raises TooFewReplicas: WAIT is sent with the script, in the same round trip. It covers
    all writes of this server so far, so that a repetition that writes nothing waits for the original write.
    """
    try:
        return _evaluate_once(client, sha, keys, arguments, replicas)
    except NoScriptError:
        client.script_load(text)
        return _evaluate_once(client, sha, keys, arguments, replicas)


def _evaluate_once(
    client: redis.Redis, sha: str, keys: Sequence[str], arguments: Sequence[Any], replicas: ReplicaAcknowledgement
) -> Any:
    if not replicas.count:
        return client.evalsha(sha, len(keys), *keys, *arguments)
    pipeline = client.pipeline(transaction=False)
    pipeline.evalsha(sha, len(keys), *keys, *arguments)
    pipeline.execute_command("WAIT", replicas.count, replicas.wait_ms)
    answer, reached = pipeline.execute(raise_on_error=False)
    for error in (answer, reached):
        if isinstance(error, redis.RedisError):
            raise error
    if reached < replicas.count:
        raise TooFewReplicas(reached, replicas)
    return answer
