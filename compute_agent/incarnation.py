# SPDX-License-Identifier: Apache-2.0
"""The number of an agent's life: by it the scheduler tells a restarted agent's reports from late ones."""

from pathlib import Path

from compute_agent import state_files
from compute_agent.journal import Clock, wall_ms
from rpcapi import errors


def begin(path: Path, clock: Clock = wall_ms) -> int:
    """Return the new life's number, which is the time in ms and always more than the last; it is kept in ``path``.

    Raises OSError, and BadConfiguration when the file holds no number.
    """
    try:
        last = int(path.read_text(encoding="ascii")) if path.exists() else 0
    except ValueError as error:
        raise errors.BadConfiguration(
            why=f"{path} does not hold the number of the agent's last start: remove the file"
        ) from error
    number = max(clock(), last + 1)
    state_files.replace(path, str(number), durable=True)
    return number
