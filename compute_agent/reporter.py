# SPDX-License-Identifier: Apache-2.0
"""Telling the scheduler what a service host's nodes are like: all of it once, then only what has changed."""

from collections.abc import Iterable, Mapping
from typing import Any

from compute_agent import metrics
from compute_agent.calls import Calls, Rejected, Unanswered
from compute_agent.nodes import Node
from compute_agent.tracker import Tracker
from rpcapi import objects
from rpcapi.scheduler import SchedulerAPI

State = Mapping[str, Any]  # what a report says of one node


class Reporter:
    """One service host's. One thread at a time."""

    def __init__(
        self,
        *,
        host: str,
        nodes: Iterable[Node],
        tracker: Tracker,
        scheduler: SchedulerAPI,
        calls: Calls,
        incarnation: int,
    ) -> None:
        self._host = host
        self._tracker = tracker
        self._scheduler = scheduler
        self._calls = calls
        self._incarnation = incarnation
        self._static = {node.name: _static_state(node) for node in nodes}
        self._sequence = 0
        self._acknowledged: dict[str, State] | None = None  # None: the next report must be full
        self._base = 0
        self._unanswered: tuple[objects.StatsReport, dict[str, State]] | None = None

    def report(self) -> objects.StatsAnswer:
        """Send what changed since the last acknowledged report, or all; raises Unanswered, Rejected.

        A report that got no answer may have been applied: it is sent again as it was, which changes nothing then.
        """
        if self._unanswered is not None:
            answer = self._send(*self._unanswered)
            if not answer.need_full:
                return answer
        answer = self._send(*self._next())
        if answer.need_full:
            answer = self._send(*self._next())
        return answer

    def _next(self) -> tuple[objects.StatsReport, dict[str, State]]:
        now = self._now()
        self._sequence += 1
        full = self._acknowledged is None
        report = objects.StatsReport.of(
            incarnation=self._incarnation,
            sequence=self._sequence,
            base=self._base,
            full=full,
            nodes=now if self._acknowledged is None else _changes(self._acknowledged, now),
        )
        return report, now

    def _send(self, report: objects.StatsReport, told: dict[str, State]) -> objects.StatsAnswer:
        self._unanswered = (report, told)
        kind = "full" if report.full else "delta" if report.nodes else "heartbeat"
        try:
            answer = self._calls.ask(
                "update_resource_stats",
                lambda ctxt: self._scheduler.update_resource_stats(ctxt, self._host, report),
            )
        except Unanswered:
            metrics.REPORTS.labels(kind, "unanswered").inc()
            raise
        except Rejected:
            metrics.REPORTS.labels(kind, "rejected").inc()
            self._unanswered, self._acknowledged = None, None
            raise
        metrics.REPORTS.labels(kind, "need_full" if answer.need_full else "applied").inc()
        self._unanswered = None
        self._acknowledged = None if answer.need_full else told
        self._base = report.sequence
        return answer

    def _now(self) -> dict[str, State]:
        counts = self._tracker.instances()
        return {name: {**state, "metrics": {"instances": counts.get(name, 0)}} for name, state in self._static.items()}


def _static_state(node: Node) -> State:
    return {
        "inventories": {
            resource_class: _given(inventory.as_dict()) for resource_class, inventory in node.shape.inventories.items()
        },
        "traits": list(node.shape.traits),
        "availability_zone": node.availability_zone,
    }


def _given(inventory: dict[str, Any]) -> dict[str, Any]:
    """Leave out the capacity: whoever stores it computes it."""
    return {key: value for key, value in inventory.items() if key != "capacity"}


def _changes(before: Mapping[str, State], now: Mapping[str, State]) -> dict[str, State]:
    """Return, for each node that changed, the keys that did."""
    changes: dict[str, State] = {}
    for name, state in now.items():
        told = before[name]
        changed = {key: value for key, value in state.items() if value is not told[key] and value != told[key]}
        if changed:
            changes[name] = changed
    return changes
