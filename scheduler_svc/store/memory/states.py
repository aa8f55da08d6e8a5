# SPDX-License-Identifier: Apache-2.0
"""Host state in memory: reports, heartbeats and documents by namespace."""

from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc.store import namespaces, reports
from scheduler_svc.store.memory.partition import Partition
from scheduler_svc.store.records import StatsOutcome


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
    if not partition.alive.get(name):
        partition.alive[name] = True
        partition.append("alive", {name: True})


def _apply(partition: Partition, plan: reports.ReportPlan, now: int) -> None:
    if plan.changes:
        position = partition.append("provider", {change.document["id"]: change.document for change in plan.changes})
        for change in plan.changes:
            name = change.document["id"]
            partition.providers[name] = dict(change.document)
            if change.eligibility:
                partition.eligible[name] = position
            if change.inventory:
                partition.capacity[name] = reports.capacity_of(change.document)
                partition.changed[name] = position
                partition.weigh(name, now, flag=True)
    if plan.gone:
        partition.append("gone", list(plan.gone))
        for name in plan.gone:
            del partition.providers[name], partition.capacity[name], partition.eligible[name]
            partition.changed.pop(name, None)
            partition.weigh(name, now, flag=True)
            partition.forget_idle(name)


def get_state(partition: Partition, namespace: str, name: str) -> tuple[int, dict[str, Any]]:
    """Return (version, document)."""
    namespaces.check(namespace)
    document = (partition.providers if namespace == namespaces.COMPUTE else partition.services).get(name)
    if document is None:
        raise errors.UnknownHost(name=name)
    if namespace == namespaces.COMPUTE:
        return namespaces.compute(document, partition.used.get(name, {}))
    return namespaces.service(
        document,
        alive=partition.alive.get(name, False),
        audited=partition.opened.get(name) == partition.epoch,
        last_report_ms=partition.beats.get(name),
    )


def names_of(partition: Partition, namespace: str) -> list[str]:
    """Return the names in a namespace, in order."""
    namespaces.check(namespace)
    return sorted(partition.providers if namespace == namespaces.COMPUTE else partition.services)


def update_service(partition: Partition, name: str, version: int, changes: Mapping[str, Any]) -> None:
    """Merge ``changes`` into a service's document; its nodes are no longer what deciders saw."""
    stored = partition.services.get(name)
    if stored is None:
        raise errors.UnknownHost(name=name)
    merged = namespaces.merge(name, stored, version, changes)
    if merged == stored:
        return
    partition.services[name] = merged
    position = partition.append("service", {name: merged})
    applied = partition.reports.get(name)
    for node in applied.nodes if applied else ():
        partition.eligible[node] = position
