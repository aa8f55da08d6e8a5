# SPDX-License-Identifier: Apache-2.0
"""The processes of a daemon, as its exporter sees them: which workers serve, and what the kernel says of each."""

import os
from collections.abc import Iterable

from prometheus_client import Metric, ProcessCollector
from prometheus_client.registry import Collector

from rpcapi.daemon.worker_metrics import WorkerMetrics

PROCESS_ID = "gantt_worker_process_id"  # rpcapi.daemon.process_metrics.PROCESS_ID


class DaemonProcesses(Collector):
    """Collects ``process_*`` (processor time, memory, open files, start) with label ``process``, from /proc.

    A worker that died has nothing in ``recorded`` until another one serves.
    """

    def __init__(self, recorded: WorkerMetrics, workers: int) -> None:
        self.workers = workers
        self._recorded = recorded

    def serving(self) -> dict[str, int]:
        """Return the process ids of the workers that serve, by their number."""
        return {
            sample.labels["pid"]: int(sample.value)
            for family in self._recorded.collect()
            if family.name == PROCESS_ID
            for sample in family.samples
        }

    def collect(self) -> Iterable[Metric]:
        """Return one family for each figure, with a sample for each process."""
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
