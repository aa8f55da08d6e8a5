# SPDX-License-Identifier: Apache-2.0
"""Plan of a service host's report: its differences from the stored documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.instances import is_uuid
from scheduler_svc.store import provider_trees, validation
from scheduler_svc.store.providers import reported
from scheduler_svc.store.providers.changes import is_api_owned
from scheduler_svc.store.providers.reported import NO_API_PROVIDERS, ApiProviders
from scheduler_svc.store.records import SCHEMA, HostReport
from scheduler_svc.store.registrations import MAX_INCARNATION, REFUSAL, AppliedReport

COMPUTE = "gantt-compute"  # binary of services that report nodes
AWAITED = "it may run claims that the store forgot: let it audit, or fence it first"
AWAITED_AND_UP = "it is up, and may run claims that the store forgot: power it off, or let it audit"
API_CHILDREN = "providers of the Placement API are below its nodes: delete or move them first"
SHARED = "claims on other hosts use its shared resources: delete or move them first"
MAX_REFUSAL = 1000  # characters of an agent's reason to take no new guests
MAX_COUNTER = 10**20 - 1  # largest report number
_EMPTY: Mapping[str, Any] = {
    "inventories": {},
    "traits": [],
    "availability_zone": None,
    "metrics": {},
    "facts": {},
    "host_ip": None,
    "numa": None,
}
_OPTIONAL = frozenset({"facts", "host_ip", "numa"})  # fields left out of documents if empty; most providers lack them
_ELIGIBILITY = frozenset({"traits", "availability_zone", "parent", "kind"})  # fields whose change makes decisions stale


class ReportHandling(Enum):
    APPLY = auto()
    REGISTER = auto()  # apply the report under a new incarnation
    IGNORE = auto()  # the report is repeated, or older than the last applied one
    NEED_FULL = auto()  # the report is a delta to a report other than the last applied one
    SUPERSEDED = auto()  # a different incarnation has registered


@dataclass(frozen=True, slots=True)
class NodeChange:
    """New document of a provider. ``inventory``: whether its inventories changed."""

    document: Mapping[str, Any]
    inventory: bool


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """Writes that a report causes.

    Attributes:
        nodes: Names of all nodes of the host after the report.
        stale_roots: Roots of the trees on which earlier decisions become stale.
        linked, unlinked: {API-owned child: parent} to add to, and remove from, the index of children.
    """

    changes: Sequence[NodeChange]
    removed_nodes: Sequence[str]
    nodes: tuple[str, ...]
    stale_roots: Sequence[str]
    linked: Mapping[str, str] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)


def check(host: str, report: HostReport) -> None:
    validation.check_service_host(host)
    validation.check_number("incarnation", report.incarnation, 0, MAX_INCARNATION)
    for what, value in (("sequence", report.sequence), ("base", report.base)):
        validation.check_number(what, value, 0, MAX_COUNTER)
    if report.register:
        validation.check_text("agent", report.agent)
        validation.check_text(REFUSAL, report.refusal, MAX_REFUSAL)
        if report.host_uuid and not is_uuid(report.host_uuid):
            raise validation.refuse(f"host_uuid of {host!r} must be a uuid in lower case, got {report.host_uuid!r:.80}")
        if not (report.full and report.agent):
            raise validation.refuse(f"host {host!r} must register with a full report that identifies its agent")
    for name in report.nodes:
        validation.check_name(name)
        if names.host_of(name) != host:
            raise validation.refuse(f"host {host!r} may not report {name!r}, a node of another host")


def report_handling(last: AppliedReport | None, report: HostReport) -> ReportHandling:
    """Return how to handle ``report``. A late report shows by its sequence, which grows across registrations."""
    if report.register:
        is_repeated = last is not None and report.agent == last.agent and report.sequence <= last.sequence
        return ReportHandling.IGNORE if is_repeated else ReportHandling.REGISTER
    if last is None or report.incarnation != last.incarnation:
        return ReportHandling.SUPERSEDED
    if report.sequence <= last.sequence:
        return ReportHandling.IGNORE
    return ReportHandling.APPLY if report.full or report.base == last.sequence else ReportHandling.NEED_FULL


def plan(
    host: str,
    last: AppliedReport | None,
    report: HostReport,
    stored: Mapping[str, Mapping[str, Any]],
    api: ApiProviders = NO_API_PROVIDERS,
) -> ReportPlan:
    """Compare a report's nodes with their ``stored`` documents and with API-owned providers in the trees.

    Raises:
        UnknownHost: A delta names a node that the host never reported.
        InvalidStats: A parent is unknown, in a cycle or changed by a delta; or an API-owned provider has a node's name.
    """
    reported.check_names(api)
    nodes, full = report.nodes, report.full
    last_nodes = last.nodes if last else ()
    if not full:
        for name in nodes:
            if name not in stored or name not in last_nodes:
                raise errors.UnknownHost(name=name)
    roots = provider_trees.check_full(nodes) if full else provider_trees.check_delta(nodes, stored)
    changes, stale = [], set()
    for name, root in roots.items():
        fixed: dict[str, Any] = {
            "id": name,
            "host": host,
            "root": root,
            "parent": nodes[name].get("parent") if full else stored[name]["parent"],
            "kind": provider_trees.kind_of(nodes[root] if full else stored[name]),
        }
        change, changed = _compare(fixed, nodes[name], stored.get(name), full)
        if change is not None:
            changes.append(change)
        if changed & _ELIGIBILITY:
            stale |= {root, stored.get(name, fixed)["root"]}
    remaining = reported.remaining(roots, api) if api.below else {}
    for name, document in remaining.items():
        changes.append(NodeChange(document, name in api.dropped))
        stale.add(document["root"])
    removed = [name for name in last_nodes if name not in nodes and name not in remaining] if full else []
    stale.update(root for name in removed for root in provider_trees.possible_roots(name, nodes))
    return ReportPlan(
        changes,
        removed,
        tuple(sorted(nodes)) if full else last_nodes,
        sorted(stale.difference(removed)),
        linked={name: remaining[name]["parent"] for name in api.dropped if _is_child(remaining.get(name))},
        unlinked={name: stored[name]["parent"] for name in nodes if _is_child(stored.get(name))},
    )


def capacity_of(document: Mapping[str, Any]) -> dict[str, int | list[int]]:
    """Return {class: capacity or [capacity, min_unit, max_unit, step_size]}.

    The short form means that the units allow any amount up to the capacity.
    """
    return {name: _unit(inventory) for name, inventory in document["inventories"].items()}


def _unit(inventory: Mapping[str, Any]) -> int | list[int]:
    capacity, least, most, step = (inventory[key] for key in ("capacity", "min_unit", "max_unit", "step_size"))
    return capacity if least <= 1 == step and most >= capacity else [capacity, least, most, step]


def built_in(document: Mapping[str, Any] | None) -> int:
    """Return how many instances the metrics of a node's document count that are no builds in progress."""
    metrics = (document or {}).get("metrics")
    metrics = metrics if isinstance(metrics, Mapping) else {}
    instances, io_ops, resizes = (_number(metrics.get(name)) for name in ("instances", "io_ops", "unconfirmed_resizes"))
    return int(max(instances - io_ops, 0) + resizes)


def _number(value: Any) -> float:
    """Return a metric's number, 0 if it is missing or out of range."""
    return value if isinstance(value, int | float) and 0 <= value <= MAX_AMOUNT else 0


def capacity_in(unit: int | Sequence[int] | None) -> int:
    return (unit if isinstance(unit, int) else unit[0]) if unit is not None else 0


def _is_child(document: Mapping[str, Any] | None) -> bool:
    return document is not None and is_api_owned(document) and document["parent"] is not None


def new_service(binary: str) -> dict[str, Any]:
    return {"schema": SCHEMA, "version": 1, "binary": binary, "enabled": True, "disabled_reason": None}


def service_name(host: str, binary: str) -> str:
    """Return the name of a service. The compute service is named like its host."""
    return host if binary == COMPUTE else f"{binary}@{host}"


def _compare(
    fixed: dict[str, Any], node: Mapping[str, Any], stored: Mapping[str, Any] | None, full: bool
) -> tuple[NodeChange | None, set[str]]:
    """Return (a provider's change or None, names of the changed fields)."""
    before = {**_EMPTY, "kind": provider_trees.KINDS[0], **(stored or {})}
    defaults = _EMPTY if full else before
    parts = {part: node.get(part, defaults[part]) for part in _EMPTY} | fixed
    traits = node["traits"] if "traits" in node else parts["traits"] if full else reported.reported_traits(before)
    parts["traits"] = sorted(parts["traits"])
    parts |= reported.additions(before, traits)
    changed = {part for part, value in parts.items() if stored is None or value != before.get(part)}
    if is_api_owned(before):
        changed.add("owner")
    if not changed:
        return None, changed
    document = {part: value for part, value in parts.items() if part not in _OPTIONAL or value != _EMPTY[part]}
    version = (stored["version"] if stored else 0) + 1
    return NodeChange({"schema": SCHEMA, **document, "version": version}, "inventories" in changed), changed
