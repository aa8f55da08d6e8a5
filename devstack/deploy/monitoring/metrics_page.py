# SPDX-License-Identifier: Apache-2.0
"""Generator of docs/metrics.md: ``python -m devstack.deploy.monitoring.metrics_page``."""

import importlib
import pkgutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from scheduler_svc.core import filters
from scheduler_svc.core.filtering.pipeline import pipeline
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.nova import service_filter

PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"
MODULES = (
    *("rpcapi.daemon.metrics", "rpcapi.daemon.bus_metrics"),
    *("scheduler_svc.metrics", "conductor.metrics", "compute_agent.metrics"),
)

# {subsystem of gantt_<subsystem>_...: exporter}. The first match counts, so longer prefixes come first.
SUBSYSTEMS = {
    "placement_shadow": "gantt-placement-shadow",
    "nova_bridge": "gantt-nova-bridge",
    "nova_shadow": "gantt-scheduler with `[nova] shadow`",
    "nova_state": "gantt-scheduler with `[nova] enabled`",
    "placement": "gantt-placement",
    "scheduler": "gantt-scheduler",
    "replica": "gantt-scheduler, and of gantt-placement all but hosts and amounts",
    "store": "gantt-scheduler",
    "conductor": "gantt-conductor",
    "compute": "gantt-compute",
    "rpc": "gantt-scheduler and gantt-conductor, and of gantt-compute all but messages at the bus",
    "worker": "every daemon",
    "build": "every daemon",
}
ACROSS = {"sum": "sum", "max": "largest", "min": "smallest", "all": "each, by label `pid`"}

HEAD = """\
# Metrics

`[metrics] listen = 192.0.2.1:9402` makes a daemon serve what all its workers count to Prometheus, without
authentication: use a management network. `/healthz` on the same address answers 200 while the daemon runs, `/readyz`
while all its workers serve, else 503; also 503, with the reason, while all of a scheduler's workers suspect the message
bus. `devstack/stack.sh --metrics` turns it on for a development cluster.

Names are `gantt_<subsystem>_<what>_<unit>`. Counters end in `_total`, and stay as they are when a worker is replaced.
Gauges of a worker that died are gone; *across* says how those of several workers become one. Histograms have `_bucket`,
`_sum` and `_count`. A label has a bounded number of values. [Runbook](runbook.md) says what to do about an alert.

Refusals of a service are the calls with their error's code: `overloaded`, `quota_exceeded`, `no_valid_host`. How much
of its quota a project uses is no metric, since a cloud has any number of projects: `gantt quota show PROJECT`.
Of migrations, `gantt_conductor_instances` has those in progress (MIGRATING, RESIZE and others), `gantt migration list`
what each has left to copy. Decisions keep nothing from one request to the next
([ADR 0070](adr/0070-columns-under-a-lock.md)), so no metric counts hits of a cache.

Besides these each daemon exports `process_*` of its processes from /proc, with label `process` ("master", "exporter",
"worker 0"): `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_virtual_memory_bytes`,
`process_open_fds`, `process_max_fds`, `process_start_time_seconds`.

[Reasons](#reasons) says which filter gives which label `reason` of `gantt_scheduler_refusals_total`.

This page is written by `tox -e samples`.
"""

REASONS_HEAD = """\
## Reasons

A host counts for the first filter that rejects it. `gantt explain` says the same of one request.

| reason | filter |
|---|---|"""


def text() -> str:
    return "\n".join([HEAD, *_sections(), *_reasons()])


def _sections() -> Iterator[str]:
    for module in MODULES:
        importlib.import_module(module)
    from rpcapi.daemon import metrics  # noqa: PLC0415 - the import fixes how metrics are stored

    declared = sorted(metrics.declarations, key=lambda metric: (_subsystem(metric.name), metric.name))
    for subsystem, members in groupby(declared, key=lambda metric: _subsystem(metric.name)):
        yield f"## {subsystem}\n\nExported by {SUBSYSTEMS[subsystem]}.\n"
        yield "| metric | type | labels | across | what |\n|---|---|---|---|---|"
        for metric in members:
            across = ACROSS[metric.across] if metric.type == "gauge" else "sum"
            cells = (f"`{metric.name}`", metric.type, _labels(metric.labels), across, metric.text.rstrip("."))
            yield f"| {' | '.join(cells)} |"
        yield ""


def _reasons() -> Iterator[str]:
    from scheduler_svc.scheduling import refusals  # noqa: PLC0415 - imports metrics

    yield REASONS_HEAD
    names: dict[str, set[str]] = {}
    for item in _filters():
        for reason in item.reasons:
            names.setdefault(reason, set()).add(item.name)
    for reason in sorted(names):
        yield f"| {reason.replace('{}', '...')} | {_labels(sorted(names[reason]))} |"
    for reason in sorted(set(refusals.REASONS.values())):
        yield f"| {reason} | the claim script |"
    yield ""


def _labels(labels: Sequence[str]) -> str:
    return ", ".join(f"`{label}`" for label in labels)


def _subsystem(name: str) -> str:
    words = name.removeprefix("gantt_")
    return next(subsystem for subsystem in SUBSYSTEMS if words.startswith(f"{subsystem}_"))


def _filters() -> Iterator[Filter]:
    """Yield all built-in filters with default options, including those that cannot be configured."""
    yield from (service_filter.FILTER, *pipeline(), service_filter.WAITING)
    for info in pkgutil.iter_modules(filters.__path__):
        values = vars(importlib.import_module(f"{filters.__name__}.{info.name}")).values()
        yield from (value for value in values if isinstance(value, Filter))


if __name__ == "__main__":
    PAGE.write_text(text())
