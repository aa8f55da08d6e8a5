# SPDX-License-Identifier: Apache-2.0
"""Collectors of the exporter, which alone may import them: metrics of workers, and of all processes."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from prometheus_client import Metric, ProcessCollector
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

_merge: Any = MultiProcessCollector.merge
# Metrics of rpcapi.daemon.metrics, which only workers may import.
PROCESS_ID = "gantt_worker_process_id"
NOT_READY = "gantt_worker_not_ready"


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


class DaemonProcesses(Collector):
    """Collector of ``process_*`` from /proc by ``process``; omits a dead worker until its successor serves."""

    def __init__(self, recorded: WorkerMetrics, workers: int) -> None:
        self.workers = workers
        self._recorded = recorded

    def serving(self) -> dict[str, int]:
        return {sample.labels["pid"]: int(sample.value) for sample in self._samples(PROCESS_ID)}

    def obstacles(self) -> list[str]:
        return sorted(sample.labels["reason"] for sample in self._samples(NOT_READY) if sample.value)

    def _samples(self, name: str) -> Iterator[Sample]:
        for family in self._recorded.collect():
            if family.name == name:
                yield from family.samples

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        processes = {
            "master": os.getppid(),
            "exporter": os.getpid(),
            **{f"worker {number}": pid for number, pid in self.serving().items()},
        }
        for name, pid in processes.items():
            for figure in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                family = families.setdefault(figure.name, Metric(figure.name, figure.documentation, figure.type))
                for sample in figure.samples:
                    family.add_sample(sample.name, {"process": name}, sample.value)
        return families.values()
