# SPDX-License-Identifier: Apache-2.0
"""Telling the scheduler what a service host's nodes are like: all of it once, then only what has changed."""

from collections.abc import Mapping, Sequence
from typing import Any

from compute_agent import metrics
from compute_agent.activity import Activity
from compute_agent.calls import Calls, Rejected, Unanswered
from compute_agent.kinds.kind import Below
from compute_agent.load import Load
from compute_agent.nodes import Node
from compute_agent.tracker import Inventories, Tracker
from rpcapi import objects
from rpcapi.model.inventory import Inventory
from rpcapi.scheduler import SchedulerAPI

State = Mapping[str, Any]  # what a report says of one node
COMPUTE = "compute"  # the kind that need not be told
FAMILY = "="  # at the end of a wanted metric: all that begin so are wanted
_NEVER_TOLD = object()


class Reporter:
    """One service host's. One thread at a time."""

    def __init__(
        self,
        *,
        host: str,
        partition: str,
        nodes: Sequence[Node],
        tracker: Tracker,
        load: Load,
        activity: Activity,
        scheduler: SchedulerAPI,
        calls: Calls,
        incarnation: int,
    ) -> None:
        self._host = host
        self._partition = partition
        self._nodes = nodes
        self._tracker = tracker
        self._load = load
        self._activity = activity
        self._scheduler = scheduler
        self._calls = calls
        self._incarnation = incarnation
        # By shape: thousands of nodes share what a report says of theirs.
        self._given = {node.shape.name: _given(node.shape.inventories) for node in nodes}
        self._below = {node.shape.name: [(each, _below(each)) for each in node.shape.below] for node in nodes}
        self._wanted: frozenset[str] | None = None  # the keys that the scheduler reads; None: every key
        self._sequence = 0
        self._acknowledged: dict[str, State] | None = None  # None: the next report must be full
        self._base = 0
        self._unanswered: tuple[objects.StatsReport, dict[str, State]] | None = None

    def report(self, urgent: bool = False) -> objects.StatsAnswer:
        """Send what changed since the last acknowledged report, or all; raises Unanswered, Rejected.

        A report that got no answer may have been applied: it is sent again as it was, which changes nothing then.
        What changed since has time until the next report, unless it is ``urgent``.
        """
        if self._unanswered is not None:
            answer = self._send(*self._unanswered)
            if not (answer.need_full or urgent):
                return answer
        self._load.pass_interval()
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
            partition=self._partition,
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
        self._wanted = None if answer.wanted is None else frozenset(answer.wanted)
        return answer

    def _now(self) -> dict[str, State]:
        instances = self._tracker.instances()
        told = {node.name: self._state(node, instances[node.name]) for node in self._nodes}
        for node in self._nodes:
            for each, state in self._below[node.shape.name]:
                name = f"{node.name}/{each.path}"
                parent = f"{node.name}/{each.parent}" if each.parent else node.name
                inventories = self._tracker.inventories(name)
                own = {} if inventories is each.inventories else {"inventories": _given(inventories)}
                told[name] = {**state, **own, "parent": parent}
        return told

    def _state(self, node: Node, instances: int) -> State:
        inventories = self._tracker.inventories(node.name)
        own = inventories is not node.shape.inventories
        measured: dict[str, float] = {
            "instances": instances,
            "io_ops": self._activity.io_ops(node.name),
            "failed_builds": self._activity.failed_builds(node.name),
        }
        state: dict[str, Any] = {
            "inventories": _given(inventories) if own else self._given[node.shape.name],
            "traits": list(node.shape.traits),
            "availability_zone": node.availability_zone,
            "metrics": {**measured, **self._load.metrics(node.name)},
        }
        if node.host_ip is not None:
            state["host_ip"] = node.host_ip
        facts = node.shape.facts if node.location is None else {**node.shape.facts, "location": node.location}
        if facts:
            state["facts"] = facts
        for key, value in self._tracker.reports(node).items():
            state[key] = {**state.get(key, {}), **value} if key in ("facts", "metrics") else value
        told = state if self._wanted is None else _only(self._wanted, state)
        return told if node.shape.kind == COMPUTE else {**told, "kind": node.shape.kind}


def _only(wanted: frozenset[str], state: State) -> State:
    """Return what of a state is read. A metric that nobody reads any more is taken back, not left to grow old."""
    kept = {key: value for key, value in state.items() if key in wanted}
    kept["inventories"] = state["inventories"]
    families = tuple(key for key in wanted if key.endswith(FAMILY))
    kept["metrics"] = {
        name: value
        for name, value in state["metrics"].items()
        if f"metrics.{name}" in wanted or f"metrics.{name}".startswith(families)
    }
    return kept


def _given(inventories: Inventories) -> dict[str, dict[str, Any]]:
    """Return the figures as they are given: the capacity is computed by whoever stores them."""
    return {
        resource_class: {figure: getattr(inventory, figure) for figure in Inventory.__slots__}
        for resource_class, inventory in inventories.items()
    }


def _below(provider: Below) -> dict[str, Any]:
    """Return what a report says of a provider below any node of a shape; each has a parent of its own."""
    return {"inventories": _given(provider.inventories), "traits": list(provider.traits)}


def _changes(before: Mapping[str, State], now: Mapping[str, State]) -> dict[str, State]:
    """Return, for each node that changed, the keys that did; one that was not told before is a change."""
    changes: dict[str, State] = {}
    for name, state in now.items():
        told = before[name]
        changed = {key: value for key, value in state.items() if told.get(key, _NEVER_TOLD) != value}
        if changed:
            changes[name] = changed
    return changes
