# SPDX-License-Identifier: Apache-2.0
"""Sum of the workers' metrics, from their files. Only the exporter may import it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_merge: Any = MultiProcessCollector.merge


class WorkerMetrics(Collector):
    """Collector of metrics in ``folder``; skips the empty files of starting workers, which cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        files = [str(file) for file in self._folder.glob("*.db") if _is_initialized(file)]
        families: Iterable[Metric] = _merge(files)
        return families


def _is_initialized(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # gauges of a dead worker
        return False
