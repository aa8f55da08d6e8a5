# SPDX-License-Identifier: Apache-2.0
"""Incarnation numbers: they let the scheduler ignore late reports of an agent that has restarted."""

from pathlib import Path

from compute_agent import state_files
from compute_agent.clock import Clock, wall_ms
from rpcapi import errors


def next_incarnation(path: Path, clock: Clock = wall_ms) -> int:
    """Return a new incarnation number: the time in ms, at least one more than the number stored in ``path``.

    The new number is stored.

    Raises OSError, and BadConfiguration when the file holds no number.
    """
    try:
        last = int(path.read_text(encoding="ascii")) if path.exists() else 0
    except ValueError as error:
        raise errors.BadConfiguration(why=f"{path} does not contain an incarnation number: remove the file") from error
    number = max(clock(), last + 1)
    state_files.replace(path, str(number), durable=True)
    return number
