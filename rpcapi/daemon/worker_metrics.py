# SPDX-License-Identifier: Apache-2.0
"""The sum of the workers' metrics, from their files. Only the exporter's process imports it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prometheus_client import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

_merge: Any = MultiProcessCollector.merge


class WorkerMetrics(Collector):
    """Collects what the workers recorded in ``folder``, while they start and die.

    A worker creates a file empty and gives it its size next. prometheus_client fails at a file that it reads in
    between, so this class omits it: nothing is recorded in it yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        """Return one family for each metric."""
        files = [str(file) for file in self._folder.glob("*.db") if _is_initialized(file)]
        families: Iterable[Metric] = _merge(files)
        return families


def _is_initialized(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:  # the gauges of a worker that died
        return False
