# SPDX-License-Identifier: Apache-2.0
"""Run a script, and let its answer wait until enough replicas have what it wrote."""

from collections.abc import Sequence
from typing import Any

import redis
from redis.exceptions import NoScriptError

from rpcapi.conf.replicas import Replicas


class NotReplicated(redis.RedisError):
    """Raised when too few replicas have a write in time. The write stands; to repeat it waits for them again."""


def evaluate(
    client: redis.Redis, sha: str, text: str, keys: Sequence[str], arguments: Sequence[Any], *, replicas: Replicas
) -> Any:
    """Return the script's answer; one that the server has forgotten is loaded again. Raises redis-py's errors.

    With ``replicas.wanted`` also NotReplicated: WAIT goes with the script, in the same round trip. It waits for all
    that this server has written so far, so that a repetition which finds all done waits for its first time's write.
    """
    try:
        return _once(client, sha, keys, arguments, replicas)
    except NoScriptError:
        client.script_load(text)
        return _once(client, sha, keys, arguments, replicas)


def _once(client: redis.Redis, sha: str, keys: Sequence[str], arguments: Sequence[Any], replicas: Replicas) -> Any:
    if not replicas.wanted:
        return client.evalsha(sha, len(keys), *keys, *arguments)
    pipeline = client.pipeline(transaction=False)
    pipeline.evalsha(sha, len(keys), *keys, *arguments)
    pipeline.execute_command("WAIT", replicas.wanted, replicas.wait_ms)
    answer, reached = pipeline.execute(raise_on_error=False)
    for error in (answer, reached):
        if isinstance(error, redis.RedisError):
            raise error
    if reached < replicas.wanted:
        raise NotReplicated(
            f"{reached} of {replicas.wanted} replicas had the write after {replicas.wait_ms} ms; it is not acknowledged"
        )
    return answer
