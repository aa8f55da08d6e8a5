# SPDX-License-Identifier: Apache-2.0
"""Stats reports of a service host to the scheduler: a full report first, then changes."""

import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oslo_log import log

from compute_agent import metrics
from compute_agent.attempts.calls import CallRejected, CallUnanswered, ServiceCalls
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.host_identity import HostIdentity
from compute_agent.resources.nodes import Node
from compute_agent.resources.tracker import Inventories
from compute_agent.simulator.load import SimulatedLoad
from compute_agent.stamps import StampFile
from rpcapi import objects
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.clients.served_versions import served_versions
from rpcapi.resources.inventory import Inventory

LOG = log.getLogger(__name__)

State = Mapping[str, Any]  # part of a report about one node
BINARY = "gantt-compute"
INSTANCES = "metrics.instances"  # Key that the scheduler reads to limit instances or builds.
COMPUTE = "compute"  # default kind, omitted from reports
PREFIX_MARK = "="  # suffix of a key that stands for all metrics with this prefix
_NEVER_SENT = object()


class StatsReporter:
    def __init__(
        self,
        guest_manager: GuestManager,
        *,
        partition: str,
        nodes: Sequence[Node],
        load: SimulatedLoad,
        scheduler: SchedulerAPI,
        calls: ServiceCalls,
        check_folder: Callable[[], None],
        stamps: StampFile,
        identity: HostIdentity,
    ) -> None:
        """``check_folder`` raises FolderInUse if the agent has lost its state folder and must not register."""
        self._guest_manager = guest_manager
        self._partition = partition
        self._nodes = nodes
        self._load = load
        self._scheduler = scheduler
        self._calls = calls
        self._check_folder = check_folder
        self._stamps = stamps
        self._identity = identity
        self._agent = uuid.uuid4().hex
        self._incarnation = 0
        self._registered = False
        # Per shape, since thousands of nodes share these parts of a report.
        self._shape_inventories = {node.shape.name: _inventory_dicts(node.shape.inventories) for node in nodes}
        self._shape_providers = {
            node.shape.name: [
                (provider, {"inventories": _inventory_dicts(provider.inventories), "traits": list(provider.traits)})
                for provider in node.shape.child_providers
            ]
            for node in nodes
        }
        self._read_keys: frozenset[str] | None = None  # keys that the scheduler reads; None: every key
        self._reported_drops = 0  # value of ``tracker.drops`` that all reports since include
        self._sequence = 0
        self._acknowledged_states: dict[str, State] | None = None  # None: the next report must be full
        self._base = 0
        # Not acknowledged yet: the report, its states, and the time of its first sending.
        self._pending_report: tuple[objects.StatsReport, dict[str, State], float] | None = None
        self._pending_drops = 0

    @property
    def reported_drops(self) -> float:
        """Number of dropped attempts that the scheduler knows; infinite if it reads no number of instances."""
        is_read = self._read_keys is None or INSTANCES in self._read_keys
        return self._reported_drops if is_read else math.inf

    def report(self, urgent: bool = False) -> objects.StatsAnswer:
        """Send the changes since the last acknowledged report, or a full report.

        An unanswered report may have been applied, so it is repeated unchanged first; later changes wait unless
        ``urgent``. The first report registers the agent, as does the next one after another agent superseded it. Raises
        CallUnanswered, CallRejected, and FolderInUse if the agent must not register.
        """
        if self._pending_report is not None:
            answer = self._send(*self._pending_report)
            if not (answer.need_full or answer.superseded or urgent):
                return answer
        self._load.advance_interval()
        answer = self._send(*self._next_report())
        if answer.need_full or answer.superseded:
            answer = self._send(*self._next_report())
        return answer

    def _next_report(self) -> tuple[objects.StatsReport, dict[str, State], float]:
        if not self._registered:
            self._check_folder()
        self._pending_drops = self._guest_manager.tracker.drops
        states = self._current_states()
        self._sequence += 1
        full = self._acknowledged_states is None
        report = objects.StatsReport.of(
            incarnation=self._incarnation,
            sequence=self._sequence,
            base=self._base,
            full=full,
            nodes=states if self._acknowledged_states is None else _changes(self._acknowledged_states, states),
            partition=self._partition,
            register=not self._registered,
            agent=self._agent,
            stamp=self._stamps.newest,
            rpc_versions=None if self._registered else served_versions(BINARY),
            served=self._registered or self._identity.is_served,
            refusal="" if self._registered else self._guest_manager.refusal,
        )
        return report, states, self._guest_manager.audit_duty.now()

    def _send(self, report: objects.StatsReport, states: dict[str, State], sent_at: float) -> objects.StatsAnswer:
        self._pending_report = (report, states, sent_at)
        kind = "full" if report.full else "delta" if report.nodes else "heartbeat"
        try:
            answer = self._calls.call(
                "update_resource_stats",
                lambda ctxt: self._scheduler.update_resource_stats(ctxt, self._guest_manager.host, report),
            )
        except CallUnanswered:
            metrics.REPORTS.labels(kind, "unanswered").inc()
            raise
        except CallRejected:
            metrics.REPORTS.labels(kind, "rejected").inc()
            self._pending_report, self._acknowledged_states = None, None
            self._reported_drops = self._pending_drops  # the store refuses this host's counts; claims must end anyway
            raise
        result = "superseded" if answer.superseded else "need_full" if answer.need_full else "applied"
        metrics.REPORTS.labels(kind, result).inc()
        for refusal in answer.refusals:
            LOG.warning("Host %s: the scheduler refused a fact: %s", self._guest_manager.host, refusal)
        self._stamps.keep(answer.stamp)
        self._pending_report = None
        self._registered = not answer.superseded
        if answer.superseded:
            LOG.warning(
                "Host %s: another agent superseded this one, or the store forgot it; registering again",
                self._guest_manager.host,
            )
        else:
            self._incarnation = answer.incarnation
            self._guest_manager.audit_duty.note_report(sent_at)
            self._note_served()
        self._acknowledged_states = states if result == "applied" else None
        if result == "applied":
            self._reported_drops = self._pending_drops
        self._base = report.sequence
        self._read_keys = None if answer.required_keys is None else frozenset(answer.required_keys)
        return answer

    def _note_served(self) -> None:
        if not (self._identity.is_served or self._guest_manager.refusal):
            try:
                self._identity.set_served(True)
            except OSError as error:
                LOG.warning("Cannot save the mark of a served folder, host=%s: %s", self._guest_manager.host, error)

    def _current_states(self) -> dict[str, State]:
        activity = self._guest_manager.activity
        with activity.lock:
            instances = self._guest_manager.tracker.instances()
            builds = {node.name: activity.io_ops(node.name) for node in self._nodes}
        states = {node.name: self._state(node, instances[node.name], builds[node.name]) for node in self._nodes}
        for node in self._nodes:
            for provider, state in self._shape_providers[node.shape.name]:
                name = f"{node.name}/{provider.path}"
                parent = f"{node.name}/{provider.parent}" if provider.parent else node.name
                inventories = self._guest_manager.tracker.inventories(name)
                override = {} if inventories is provider.inventories else {"inventories": _inventory_dicts(inventories)}
                states[name] = {**state, **override, "parent": parent}
        return states

    def _state(self, node: Node, instances: int, builds: int) -> State:
        inventories = self._guest_manager.tracker.inventories(node.name)
        differs = inventories is not node.shape.inventories
        node_metrics: dict[str, float] = {
            "instances": instances,
            "io_ops": builds,
            "failed_builds": self._guest_manager.activity.failed_builds(node.name),
        }
        state: dict[str, Any] = {
            "inventories": _inventory_dicts(inventories) if differs else self._shape_inventories[node.shape.name],
            "traits": list(node.shape.traits),
            "availability_zone": node.availability_zone,
            "metrics": {**node_metrics, **self._load.metrics(node.name)},
        }
        if node.host_ip is not None:
            state["host_ip"] = node.host_ip
        facts = node.shape.facts if node.location is None else {**node.shape.facts, "location": node.location}
        if facts:
            state["facts"] = facts
        for key, value in self._guest_manager.tracker.kind_reports(node).items():
            state[key] = {**state.get(key, {}), **value} if key in ("facts", "metrics") else value
        sent_state = state if self._read_keys is None else _filter_keys(self._read_keys, state)
        return sent_state if node.shape.kind == COMPUTE else {**sent_state, "kind": node.shape.kind}


def _filter_keys(read_keys: frozenset[str], state: State) -> State:
    filtered = {key: value for key, value in state.items() if key in read_keys}
    filtered["inventories"] = state["inventories"]
    families = tuple(key for key in read_keys if key.endswith(PREFIX_MARK))
    filtered["metrics"] = {
        name: value
        for name, value in state["metrics"].items()
        if f"metrics.{name}" in read_keys or f"metrics.{name}".startswith(families)
    }
    return filtered


def _inventory_dicts(inventories: Inventories) -> dict[str, dict[str, Any]]:
    """Return inventories as dicts without the capacity, which the store computes."""
    return {
        resource_class: {figure: getattr(inventory, figure) for figure in Inventory.__slots__}
        for resource_class, inventory in inventories.items()
    }


def _changes(old_states: Mapping[str, State], new_states: Mapping[str, State]) -> dict[str, State]:
    changes: dict[str, State] = {}
    for name, state in new_states.items():
        old_state = old_states[name]
        changed = {key: value for key, value in state.items() if old_state.get(key, _NEVER_SENT) != value}
        if changed:
            changes[name] = changed
    return changes
