# SPDX-License-Identifier: Apache-2.0
"""Host state: reports, heartbeats and documents by namespace."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.store import aggregates, documents, namespaces, reports
from scheduler_svc.store.records import StatsOutcome
from scheduler_svc.store.verbs.partition import Partition


def update_stats(
    partition: Partition,
    host: str,
    report: tuple[int, int, int, bool],
    nodes: Mapping[str, Mapping[str, Any]],
    now: int,
) -> StatsOutcome:
    """Apply ``report``: (incarnation, sequence, base, full) and its nodes."""
    incarnation, sequence, _base, full = report
    last = partition.reports.get(host)
    partition.expect(services=[host], providers={*nodes, *(last.nodes if last and full else ())})
    freshness = reports.judge(last, *report)
    if freshness is reports.Freshness.APPLY:
        stored = {name: partition.providers[name] for name in nodes if name in partition.providers}
        plan = reports.plan(host, last, full, nodes, stored)
        beat(partition, host, reports.COMPUTE, now)
        _apply(partition, plan, now)
        partition.reports[host] = reports.Applied(incarnation, sequence, plan.nodes)
    elif freshness is reports.Freshness.NEED_FULL:
        beat(partition, host, reports.COMPUTE, now)
    need_full = freshness is reports.Freshness.NEED_FULL
    return StatsOutcome(need_full, partition.epoch, not partition.is_open(host), partition.position)


def beat(partition: Partition, name: str, binary: str, now: int) -> None:
    """Count a heartbeat; log a service that is new, or was down."""
    if name not in partition.services:
        partition.services[name] = reports.new_service(binary)
        partition.append("service", {name: partition.services[name]})
    partition.beats[name] = now
    if not partition.by_group and not partition.alive.get(name):
        partition.alive[name] = True
        partition.append("alive", {name: True})


def _apply(partition: Partition, plan: reports.ReportPlan, now: int) -> None:
    if plan.changes:
        position = partition.append("provider", {change.document["id"]: change.document for change in plan.changes})
        for change in plan.changes:
            name = change.document["id"]
            partition.providers[name] = dict(change.document)
            if change.inventory:
                partition.capacity[name] = reports.capacity_of(change.document)
                partition.changed[name] = position
                partition.weigh(name, now, flag=True)
    drop_nodes(partition, plan.gone, now)
    partition.make_stale(plan.stale)


def drop_nodes(partition: Partition, gone: Sequence[str], now: int) -> None:
    """Forget nodes that their host no longer has; what claims hold there is in excess."""
    if not gone:
        return
    partition.append("gone", list(gone))
    for name in gone:
        del partition.providers[name]
        for told_of in (partition.capacity, partition.changed):
            told_of.pop(name, None)
        if names.SEPARATOR in name:  # another is its service host's too, which may have other nodes
            partition.eligible.pop(name, None)
        partition.weigh(name, now, flag=True)
        partition.forget_idle(name)


def bury_silent(partition: Partition, since: int) -> None:
    """Log that services without a sign of life later than ``since`` are down."""
    dead = sorted(partition.silent(since))
    if dead:
        partition.alive.update(dict.fromkeys(dead, False))
        partition.append("alive", dict.fromkeys(dead, False))


def settle_alive(partition: Partition, living: Collection[str]) -> int:
    """Log that of the known services exactly these live; return for how many that was news."""
    news = {}
    known = sorted(partition.services)
    partition.expect(services=known)
    for name in known:
        lives = name in living
        if partition.alive.get(name, False) != lives:
            news[name] = lives
    if news:
        partition.alive.update(news)
        partition.append("alive", news)
    return len(news)


def get_state(partition: Partition, namespace: str, name: str) -> namespaces.Versioned:
    """Return (version, document); raises UnknownHost. The namespace was checked."""
    if namespace == namespaces.COMPUTE and name in partition.providers:
        return namespaces.compute(partition.providers[name], partition.used.get(name, {}))
    if namespace == namespaces.SERVICE and name in partition.services:
        return namespaces.service(
            partition.services[name],
            alive=partition.alive.get(name, False),
            audited=partition.opened.get(name) == partition.epoch,
            last_report_ms=partition.beats.get(name),
        )
    held = partition.state_of(namespace, name)
    if held is None:
        raise errors.UnknownHost(name=name)
    return held


def list_state(
    partition: Partition, namespace: str, marker: str | None, limit: int
) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
    """Return a page of (name, version, document), and the next marker."""
    wanted, following = partition.page_of_names(namespace, marker, limit)
    if namespace == namespaces.COMPUTE:
        partition.expect(providers=wanted)
    if namespace == namespaces.SERVICE:
        partition.expect(services=wanted)
    return [(name, *get_state(partition, namespace, name)) for name in wanted], following


def put_state(partition: Partition, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
    """Put a document that was checked, and return its version: the position of its last change."""
    if namespace == namespaces.SERVICE:
        return _put_service(partition, name, version, document)
    at, held = partition.state_of(namespace, name) or (0, None)
    if held is not None and documents.is_same(held, document):
        return at
    if at != version:
        raise namespaces.conflict(namespace, name, at, version)
    position = partition.append("state", {namespace: {name: dict(document)}})
    partition.keep_state(namespace, name, (position, dict(document)))
    _touch_members(partition, namespace, held, document)
    return position


def delete_state(partition: Partition, namespace: str, name: str, version: int) -> None:
    """Delete a declared namespace's document."""
    held = partition.state_of(namespace, name)
    if held is None:
        return
    if held[0] != version:
        raise namespaces.conflict(namespace, name, held[0], version)
    partition.append("state", {namespace: {name: None}})
    partition.keep_state(namespace, name, None)
    _touch_members(partition, namespace, held[1], None)


def _touch_members(
    partition: Partition, namespace: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> None:
    """Have what was decided on an aggregate's members decided anew where the aggregate changed."""
    if namespace == aggregates.NAMESPACE:
        touched = aggregates.touched(before, after)
        partition.expect(providers=touched, services=touched)
        partition.make_stale(name for name in touched if name in partition.providers or name in partition.reports)


def _put_service(partition: Partition, name: str, version: int, changes: Mapping[str, Any]) -> int:
    """Merge an operator's word into a service's document; its nodes are no longer what deciders saw."""
    stored = partition.services.get(name)
    if stored is None:
        raise errors.UnknownHost(name=name)
    merged = namespaces.merge(name, stored, version, changes)
    if merged != stored:
        partition.services[name] = merged
        partition.append("service", {name: merged})
        if name in partition.reports:
            partition.make_stale([name])
    return int(merged["version"])
