# SPDX-License-Identifier: Apache-2.0
"""Figures of a daemon's processes: the serving workers, and what keeps the daemon from being ready."""

from prometheus_client import Metric

from rpcapi.daemon import metrics, process_figures
from rpcapi.daemon.process_figures import DaemonProcesses


class Recorded:
    """The metrics of all workers, each a dictionary of values by the value of its label."""

    def __init__(self, **values: dict[str, float]) -> None:
        self._values = values

    def collect(self) -> list[Metric]:
        labels = {process_figures.PROCESS_ID: "pid", process_figures.NOT_READY: "reason"}
        families = []
        for name, values in self._values.items():
            family = Metric(name, "", "gauge")
            for value, figure in values.items():
                family.add_sample(name, {labels.get(name, "label"): value}, figure)
            families.append(family)
        return families


def test_names_are_those_that_workers_record() -> None:
    assert metrics.PROCESS_ID._name == process_figures.PROCESS_ID
    assert metrics.NOT_READY._name == process_figures.NOT_READY


def test_obstacles_are_those_that_all_workers_see() -> None:
    recorded = Recorded(
        gantt_worker_process_id={"0": 4711, "1": 4712},
        gantt_worker_not_ready={"west is silent": 1, "east is silent": 0},
        gantt_other={"x": 1},
    )
    processes = DaemonProcesses(recorded, 2)  # type: ignore[arg-type]
    assert processes.serving() == {"0": 4711, "1": 4712}
    assert processes.obstacles() == ["west is silent"]
