# SPDX-License-Identifier: Apache-2.0
"""What a service host's report changes: pure comparison of what is told with what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.store import lineage, validation
from scheduler_svc.store.records import SCHEMA

COMPUTE = "gantt-compute"  # the binary of services that report nodes
AWAITED = "it may run claims that the store forgot: let it audit, or fence it first"  # why a host is not removed
SHARED = "claims on other hosts hold what it shares: delete or move those first"  # and why else
MAX_COUNTER = 10**20 - 1  # what an incarnation may be: a start time in nanoseconds fits
_EMPTY: Mapping[str, Any] = {
    "inventories": {},
    "traits": [],
    "availability_zone": None,
    "metrics": {},
    "facts": {},
    "host_ip": None,
    "numa": None,
}
_SPARED = frozenset({"facts", "host_ip", "numa"})  # left out of a document where nothing is told: most have none
_ELIGIBILITY = frozenset({"traits", "availability_zone", "parent", "kind"})  # what candidates are made of, room aside


@dataclass(frozen=True, slots=True)
class Applied:
    """The last report that was applied for a service host, and the nodes that it has since."""

    incarnation: int
    sequence: int
    nodes: tuple[str, ...]


class Freshness(Enum):
    """What becomes of a report."""

    APPLY = auto()
    IGNORE = auto()  # repeated, or older than one that was applied
    NEED_FULL = auto()  # a delta on something else than what is stored


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A provider's new document, and whether its inventories are news to claims."""

    document: Mapping[str, Any]
    inventory: bool


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """What a report changes: providers new or different, those gone, and all that the host has then.

    ``stale`` are the roots whose trees candidates can no longer be as they were decided on.
    """

    changes: Sequence[NodeChange]
    gone: Sequence[str]
    nodes: tuple[str, ...]
    stale: Sequence[str]


def check(host: str, incarnation: int, sequence: int, base: int, nodes: Mapping[str, Any]) -> None:
    """Raise InvalidRequest, or InvalidName, unless the report can be true; its figures were validated before."""
    validation.check_service_host(host)
    for what, value in (("incarnation", incarnation), ("sequence", sequence), ("base", base)):
        validation.check_number(what, value, 0, MAX_COUNTER)
    for name in nodes:
        validation.check_name(name)
        if names.host_of(name) != host:
            raise validation.refuse(f"host {host!r} reports {name!r}, which is another host's node")


def judge(last: Applied | None, incarnation: int, sequence: int, base: int, full: bool) -> Freshness:
    """Say what becomes of report (``incarnation``, ``sequence``) after ``last``."""
    if last is not None and (incarnation, sequence) <= (last.incarnation, last.sequence):
        return Freshness.IGNORE
    if not full and (last is None or (incarnation, base) != (last.incarnation, last.sequence)):
        return Freshness.NEED_FULL
    return Freshness.APPLY


def plan(
    host: str,
    last: Applied | None,
    full: bool,
    nodes: Mapping[str, Mapping[str, Any]],
    stored: Mapping[str, Mapping[str, Any]],
) -> ReportPlan:
    """Compare reported ``nodes`` with the ``stored`` documents of those nodes.

    Raises UnknownHost where a delta names a node that the host never reported, and InvalidStats where parents are
    unknown, go in a circle or would change by a delta.
    """
    had = last.nodes if last else ()
    if not full:
        for name in nodes:
            if name not in stored or name not in had:
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
    gone = [name for name in had if name not in nodes] if full else []
    stale.update(root for name in gone for root in lineage.above(name, nodes))
    return ReportPlan(changes, gone, tuple(sorted(nodes)) if full else had, sorted(stale.difference(gone)))


def capacity_of(document: Mapping[str, Any]) -> dict[str, int | list[int]]:
    """Return what a claim needs to know of each class: its capacity, or [capacity, min_unit, max_unit, step_size].

    The capacity alone stands where it is handed out in any amount: reading it is most of a claim's work.
    """
    return {name: _unit(held) for name, held in document["inventories"].items()}


def _unit(held: Mapping[str, Any]) -> int | list[int]:
    capacity, least, most, step = (held[key] for key in ("capacity", "min_unit", "max_unit", "step_size"))
    return capacity if least <= 1 == step and most >= capacity else [capacity, least, most, step]


def capacity_in(unit: int | Sequence[int] | None) -> int:
    """Return the capacity alone of what ``capacity_of`` tells of a class; none is 0."""
    return (unit if isinstance(unit, int) else unit[0]) if unit is not None else 0


def new_service(binary: str) -> dict[str, Any]:
    """Return the document of a service that reports for the first time."""
    return {"schema": SCHEMA, "version": 1, "binary": binary, "enabled": True, "disabled_reason": None}


def service_name(host: str, binary: str) -> str:
    """Return the name of a service without nodes; the bare host is the name of its compute service."""
    return host if binary == COMPUTE else f"{binary}@{host}"


def _compare(
    fixed: dict[str, Any], told: Mapping[str, Any], stored: Mapping[str, Any] | None, full: bool
) -> tuple[NodeChange | None, set[str]]:
    """Return a provider's change, if it is one, and which parts of its document differ."""
    before = {**_EMPTY, "kind": lineage.KINDS[0], **(stored or {})}
    ground = _EMPTY if full else before
    parts = {part: told.get(part, ground[part]) for part in _EMPTY} | fixed
    parts["traits"] = sorted(parts["traits"])
    changed = {part for part, value in parts.items() if stored is None or value != before[part]}
    if not changed:
        return None, changed
    kept = {part: value for part, value in parts.items() if part not in _SPARED or value != _EMPTY[part]}
    version = (stored["version"] if stored else 0) + 1
    return NodeChange({"schema": SCHEMA, **kept, "version": version}, "inventories" in changed), changed
