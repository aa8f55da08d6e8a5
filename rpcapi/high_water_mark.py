# SPDX-License-Identifier: Apache-2.0
"""What this process has observed of a store: one that is behind that has forgotten acknowledged writes."""

from threading import Lock


class HighWaterMark:
    """The newest epoch and position of a store, and whether this process began an epoch; thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._observed = (0, 0)
        self._epoch_changed = False

    @property
    def high_water_mark(self) -> tuple[int, int]:
        """The newest observed epoch and position, 0 before the first check."""
        with self._lock:
            return self._observed

    def observe(self, epoch: int, position: int) -> None:
        """Record an observed epoch and position."""
        with self._lock:
            self._observed = max(self._observed[0], epoch), max(self._observed[1], position)

    def note_epoch_change(self) -> None:
        """Record that this process began a new epoch."""
        with self._lock:
            self._epoch_changed = True

    def take_epoch_change(self) -> bool:
        """Return whether this process began a new epoch since the last call."""
        with self._lock:
            changed, self._epoch_changed = self._epoch_changed, False
            return changed
