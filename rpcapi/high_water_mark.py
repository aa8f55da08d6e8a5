# SPDX-License-Identifier: Apache-2.0
"""High-water mark of a store, to detect that the store lost acknowledged writes."""

from threading import Lock


class HighWaterMark:
    """Newest epoch and position of a store that this process observed. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._observed = (0, 0)
        self._epoch_changed = False

    @property
    def high_water_mark(self) -> tuple[int, int]:
        with self._lock:
            return self._observed

    def observe(self, epoch: int, position: int) -> None:
        with self._lock:
            self._observed = max(self._observed[0], epoch), max(self._observed[1], position)

    def note_epoch_change(self) -> None:
        with self._lock:
            self._epoch_changed = True

    def take_epoch_change(self) -> bool:
        with self._lock:
            changed, self._epoch_changed = self._epoch_changed, False
            return changed
