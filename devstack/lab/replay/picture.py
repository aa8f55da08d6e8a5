# SPDX-License-Identifier: Apache-2.0
"""Plot of a replay: density, empty hosts and stranded amounts over the trace's time, one line per driver."""

from collections.abc import Mapping
from typing import Any

from devstack.lab.replay.scenario import ReplayRun

HOUR = 3600.0
PANELS = (
    ("memory_density", "memory in use on hosts\nthat are not empty"),
    ("cpu_density", "cpu in use on hosts\nthat are not empty"),
    ("empty_hosts", "empty hosts"),
    ("stranded_cpu", "stranded cpu,\nshare of all"),
    ("stranded_memory", "stranded memory,\nshare of all"),
)


def draw(figure: Any, runs: Mapping[str, ReplayRun]) -> None:
    """Plot the runs, by driver, into a matplotlib figure."""
    figure.set_size_inches(9, 12)
    panels = figure.subplots(len(PANELS), 1, sharex=True)
    for axes, (name, title) in zip(panels, PANELS, strict=True):
        for driver, run in runs.items():
            begins = run.samples[0].at
            hours = [(sample.at - begins) / HOUR for sample in run.samples]
            axes.plot(hours, [getattr(sample, name) for sample in run.samples], label=driver)
        axes.set_ylabel(title)
        axes.grid(alpha=0.3)
    panels[0].legend()
    panels[-1].set_xlabel("hours of the trace")
