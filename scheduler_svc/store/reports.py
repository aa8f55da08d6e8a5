# SPDX-License-Identifier: Apache-2.0
"""Comparison of a service host's report with the stored documents: what the report changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.validation.instances import is_uuid
from scheduler_svc.store import lineage, validation
from scheduler_svc.store.providers import reported
from scheduler_svc.store.providers.changes import is_api_owned
from scheduler_svc.store.providers.reported import NO_API_PROVIDERS, ApiProviders
from scheduler_svc.store.records import SCHEMA, HostReport
from scheduler_svc.store.registrations import MAX_INCARNATION, REFUSAL, AppliedReport

COMPUTE = "gantt-compute"  # the binary of services that report nodes
# Reasons why a host is not removed.
AWAITED = "it may run claims that the store forgot: let it audit, or fence it first"
AWAITED_AND_UP = "it is up, and may run claims that the store forgot: power it off, or let it audit"
API_CHILDREN = "providers made by the Placement API are below its nodes: delete or move those first"
SHARED = "claims on other hosts hold what it shares: delete or move those first"
MAX_REFUSAL = 1000  # characters
MAX_COUNTER = 10**20 - 1  # of reports
_EMPTY: Mapping[str, Any] = {
    "inventories": {},
    "traits": [],
    "availability_zone": None,
    "metrics": {},
    "facts": {},
    "host_ip": None,
    "numa": None,
}
_OPTIONAL = frozenset({"facts", "host_ip", "numa"})  # omitted from a document when empty: most providers have none
_ELIGIBILITY = frozenset({"traits", "availability_zone", "parent", "kind"})  # fields that decide eligibility


class ReportHandling(Enum):
    """How a report is handled."""

    APPLY = auto()
    REGISTER = auto()  # applied under a new incarnation
    IGNORE = auto()  # repeated, or older than one that was applied
    NEED_FULL = auto()  # a delta whose base is not what is stored
    SUPERSEDED = auto()  # of another incarnation than the host's


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A provider's new document, and whether its inventories changed."""

    document: Mapping[str, Any]
    inventory: bool


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What a report changes: new or changed providers, removed ones, and all nodes that the host has then.

    ``stale_roots`` are the roots of trees whose eligibility changed: earlier decisions on them are stale. ``linked``
    and ``unlinked`` are child -> parent, of nodes that become the Placement API's, and that were.
    """

    changes: Sequence[NodeChange]
    removed_nodes: Sequence[str]
    nodes: tuple[str, ...]
    stale_roots: Sequence[str]
    linked: Mapping[str, str] = field(default_factory=dict)
    unlinked: Mapping[str, str] = field(default_factory=dict)


def check(host: str, report: HostReport) -> None:
    """Raise InvalidRequest, or InvalidName, for invalid counters or names; the figures were validated before."""
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
            raise validation.refuse(f"host {host!r} may not report {name!r}, which is a node of another host")


def report_handling(last: AppliedReport | None, report: HostReport) -> ReportHandling:
    """Return how to handle ``report`` after ``last``.

    An agent's sequence numbers grow through all its registrations, so that a late or repeated one is recognised.
    """
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
    """Compare the nodes of ``report`` with the ``stored`` documents of those nodes, and with the Placement API's share.

    Raises UnknownHost where a delta names a node that the host never reported, and InvalidStats where parents are
    unknown, form a cycle or would be changed by a delta, or where a provider of the API has the name of a node.
    """
    reported.check_names(api)
    nodes, full = report.nodes, report.full
    last_nodes = last.nodes if last else ()
    if not full:
        for name in nodes:
            if name not in stored or name not in last_nodes:
                raise errors.UnknownHost(name=name)
    roots = lineage.check_full(nodes) if full else lineage.check_delta(nodes, stored)
    changes, stale = [], set()
    for name, root in roots.items():
        fixed: dict[str, Any] = {
            "id": name,
            "host": host,
            "root": root,
            "parent": nodes[name].get("parent") if full else stored[name]["parent"],
            "kind": lineage.kind_of(nodes[root] if full else stored[name]),
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
    stale.update(root for name in removed for root in lineage.possible_roots(name, nodes))
    return ReportPlan(
        changes,
        removed,
        tuple(sorted(nodes)) if full else last_nodes,
        sorted(stale.difference(removed)),
        linked={name: remaining[name]["parent"] for name in api.dropped if _is_child(remaining.get(name))},
        unlinked={name: stored[name]["parent"] for name in nodes if _is_child(stored.get(name))},
    )


def capacity_of(document: Mapping[str, Any]) -> dict[str, int | list[int]]:
    """Return for each resource class its capacity, or [capacity, min_unit, max_unit, step_size].

    The capacity alone is stored where any amount is allowed, because decoding it is most of the work of a claim.
    """
    return {name: _unit(inventory) for name, inventory in document["inventories"].items()}


def _unit(inventory: Mapping[str, Any]) -> int | list[int]:
    capacity, least, most, step = (inventory[key] for key in ("capacity", "min_unit", "max_unit", "step_size"))
    return capacity if least <= 1 == step and most >= capacity else [capacity, least, most, step]


def capacity_in(unit: int | Sequence[int] | None) -> int:
    """Return the capacity in an element of ``capacity_of``; None is 0."""
    return (unit if isinstance(unit, int) else unit[0]) if unit is not None else 0


def _is_child(document: Mapping[str, Any] | None) -> bool:
    """Return whether a provider is the Placement API's, and below another one."""
    return document is not None and is_api_owned(document) and document["parent"] is not None


def new_service(binary: str) -> dict[str, Any]:
    """Return the document of a service that reports for the first time."""
    return {"schema": SCHEMA, "version": 1, "binary": binary, "enabled": True, "disabled_reason": None}


def service_name(host: str, binary: str) -> str:
    """Return the name of a service without nodes; the bare host is the name of its compute service."""
    return host if binary == COMPUTE else f"{binary}@{host}"


def _compare(
    fixed: dict[str, Any], node: Mapping[str, Any], stored: Mapping[str, Any] | None, full: bool
) -> tuple[NodeChange | None, set[str]]:
    """Return a provider's change, or None, and the parts of its document that differ."""
    before = {**_EMPTY, "kind": lineage.KINDS[0], **(stored or {})}
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
