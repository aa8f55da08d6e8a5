# SPDX-License-Identifier: Apache-2.0
"""Backups of the keys of a store in Redis."""

from collections.abc import Callable
from typing import Any

import redis

Backup = dict[bytes, bytes]


def back_up(client: redis.Redis, head: str) -> Backup:
    """Return a copy of the keys that begin with ``head``."""
    return {name: client.dump(name) for name in client.scan_iter(match=head + "*", count=1000)}


def restore(
    client: redis.Redis, head: str, backup: Backup, change: Callable[[Any], object] = lambda _pipeline: None
) -> None:
    """Replace the keys by those of a backup; ``change`` adds commands to the same transaction."""
    with client.pipeline(transaction=True) as pipeline:
        pipeline.delete(*client.scan_iter(match=head + "*", count=1000))
        for name, value in backup.items():
            pipeline.restore(name, 0, value)
        change(pipeline)
        pipeline.execute()
