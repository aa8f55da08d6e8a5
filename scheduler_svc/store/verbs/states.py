# SPDX-License-Identifier: Apache-2.0
"""Host state verbs: reports, heartbeats, and documents by namespace."""

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.store import aggregates, documents, namespaces, registrations, reports
from scheduler_svc.store.providers.reported import ApiProviders
from scheduler_svc.store.records import MAX_CLOCK_OFFSET_MS, HostReport, StatsOutcome
from scheduler_svc.store.verbs.collecting import begin_epoch_if_behind
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.whole_partition import WholePartition


def update_stats(
    partition: WholePartition, now: int, host: str, report: HostReport
) -> StatsOutcome | errors.HostIdentityConflict:
    """Apply a host report, see HostReportStore.update_stats.

    A HostIdentityConflict is returned, because raising it would undo an epoch that the report's proof began.
    """
    if report.proof is not None:
        begin_epoch_if_behind(partition, now, *report.proof)
    last = partition.reports.get(host)
    partition.prefetch(
        services=[host],
        providers={*report.nodes, *(last.nodes if last and report.full else ())},
        provider_names=report.nodes,
    )
    handling = reports.report_handling(last, report)
    refused = _takeover_refusal(partition, host, report) if handling is reports.ReportHandling.REGISTER else None
    if refused is not None:
        return refused
    if handling in (reports.ReportHandling.APPLY, reports.ReportHandling.REGISTER):
        stored = {name: partition.providers[name] for name in report.nodes if name in partition.providers}
        plan = reports.plan(host, last, report, stored, _api_providers(partition, last, report))
        beat(partition, now, host, reports.COMPUTE)
        applied = replace(last, sequence=report.sequence, nodes=plan.nodes) if last else None
        if applied is None or handling is reports.ReportHandling.REGISTER:
            applied = _register(partition, host, report, plan.nodes, now)
        _apply(partition, plan, now)
        partition.reports[host] = applied
    elif handling is reports.ReportHandling.NEED_FULL:
        beat(partition, now, host, reports.COMPUTE)
    if handling in (reports.ReportHandling.APPLY, reports.ReportHandling.NEED_FULL):
        _end_quiet_duplicate(partition, host, now)
    superseded = handling is reports.ReportHandling.SUPERSEDED
    return StatsOutcome(
        handling is reports.ReportHandling.NEED_FULL,
        partition.epoch,
        not partition.is_open(host),
        partition.position,
        incarnation=0 if superseded else partition.reports[host].incarnation,
        superseded=superseded,
    )


def _api_providers(
    partition: PartitionState, last: registrations.AppliedReport | None, report: HostReport
) -> ApiProviders:
    conflicts = [name for name in report.nodes if name in partition.provider_names]
    if not report.full:
        return ApiProviders(conflicts)
    dropped = {name: partition.providers[name] for name in (last.nodes if last else ()) if name not in report.nodes}
    above = [*report.nodes, *dropped]
    for name in above:
        above += partition.children.get(name, ())
    below = {name: partition.providers[name] for name in above[len(report.nodes) + len(dropped) :]}
    return ApiProviders(conflicts, {name: below[name] for name in below if name not in report.nodes}, dropped)


def _takeover_refusal(partition: PartitionState, host: str, report: HostReport) -> errors.HostIdentityConflict | None:
    service = partition.services.get(host, {})
    owner_uuid = service.get(registrations.HOST_UUID)
    if report.host_uuid == (owner_uuid or "") or (owner_uuid is None and report.served):
        return None
    is_unnamed = partition.is_awaited(UNNAMED_HOSTS) and partition.may_have_lost_claims_of(host)
    claims = 0
    if partition.is_awaited(host) or is_unnamed:
        obstacle = registrations.TakeoverObstacle.AWAITED
    elif owner_uuid is None:
        return None
    elif claims := len(partition.claims_on(host)):
        obstacle = registrations.TakeoverObstacle.CLAIMS
    elif registrations.REPLACED in service:
        return None
    elif partition.is_fenced(host):
        obstacle = registrations.TakeoverObstacle.FENCED
    elif partition.alive.get(host):
        obstacle = registrations.TakeoverObstacle.UP
    else:
        return None
    return registrations.foreign(host, obstacle, owner_uuid, claims)


def _register(
    partition: PartitionState, host: str, report: HostReport, nodes: tuple[str, ...], now: int
) -> registrations.AppliedReport:
    """Issue an incarnation, and mark the service if two agents alternate.

    An agent with a new state folder closes the host until its audit.
    """
    last = partition.reports.get(host)
    service = partition.services[host]
    if registrations.is_foreign(service, report.host_uuid) and partition.opened.pop(host, None) is not None:
        partition.append("opened", {host: 0})
    registered = registrations.with_registration(service, report)
    if registrations.is_duplicate(last, report, now):
        registered = registrations.with_duplicate(registered, now)
    position = partition.append("service", {host: registered})
    if registered != service:
        partition.services[host] = registered
        partition.make_stale([host])
    returned_ms = now if registrations.is_return(last, report) else last.returned_ms if last else None
    number = registrations.incarnation(partition.epoch, position)
    return registrations.AppliedReport(number, report.sequence, nodes, report.agent, returned_ms)


def _end_quiet_duplicate(partition: PartitionState, host: str, now: int) -> None:
    service = partition.services[host]
    if registrations.is_quiet(service, now):
        partition.services[host] = registrations.with_duplicate(service, None)
        partition.append("service", {host: partition.services[host]})
        partition.make_stale([host])


def beat(partition: PartitionState, now: int, name: str, binary: str) -> None:
    """Record a heartbeat; log a service that is new or, if heartbeats decide liveness, was down."""
    if name not in partition.services:
        partition.services[name] = reports.new_service(binary)
        partition.append("service", {name: partition.services[name]})
    partition.beats[name] = now
    if not partition.by_group and not partition.alive.get(name):
        partition.alive[name] = True
        partition.append("alive", {name: True})


def _apply(partition: PartitionState, plan: reports.ReportPlan, now: int) -> None:
    if plan.changes:
        position = partition.append("provider", {change.document["id"]: change.document for change in plan.changes})
        for change in plan.changes:
            name = change.document["id"]
            partition.providers[name] = dict(change.document)
            partition.built[name] = reports.built_in(change.document)
            if change.inventory:
                partition.capacity[name] = reports.capacity_of(change.document)
                partition.changed[name] = position
                partition.update_excess(name, now, flag=True)
    drop_nodes(partition, plan.removed_nodes, now)
    partition.link_children(plan.linked, plan.unlinked)
    partition.make_stale(plan.stale_roots)
    if plan.stale_roots or any(change.inventory for change in plan.changes):
        partition.vocabulary = partition.position


def drop_nodes(partition: PartitionState, removed: Sequence[str], now: int) -> None:
    """Remove providers from the partition. Claims that still use them become excess."""
    if not removed:
        return
    partition.append("gone", list(removed))
    for name in removed:
        del partition.providers[name]
        for mapping in (partition.capacity, partition.changed, partition.generations, partition.built):
            mapping.pop(name, None)
        if names.SEPARATOR in name:  # a name without a node part is also the name of a service host, which stays
            partition.eligible.pop(name, None)
        partition.update_excess(name, now, flag=True)
        partition.drop_idle_sums(name)


def note_clock(partition: PartitionState, now: int, name: str, sent_ms: int) -> None:
    offset = sent_ms - now - partition.lead_ms
    if abs(offset) >= MAX_CLOCK_OFFSET_MS and name in partition.services:
        partition.clock_offsets[name] = [offset, now]


def mark_silent_down(partition: WholePartition, since: int) -> None:
    dead = sorted(partition.silent_services(since))
    if dead:
        partition.alive.update(dict.fromkeys(dead, False))
        partition.append("alive", dict.fromkeys(dead, False))


def settle_alive(partition: PartitionState, _now: int, living: Collection[str]) -> int:
    changes = {}
    service_names = sorted(partition.services)
    partition.prefetch(services=service_names)
    for name in service_names:
        is_alive = name in living
        if partition.alive.get(name, False) != is_alive:
            changes[name] = is_alive
    if changes:
        partition.alive.update(changes)
        partition.append("alive", changes)
    return len(changes)


def get_state(partition: PartitionState, namespace: str, name: str) -> namespaces.Versioned:
    if namespace == namespaces.COMPUTE and name in partition.providers:
        return namespaces.compute(partition.providers[name], partition.used.get(name, {}))
    if namespace == namespaces.SERVICE and name in partition.services:
        beat = partition.beats.get(name)
        return namespaces.service(
            partition.services[name],
            alive=partition.alive.get(name, False),
            audited=partition.opened.get(name) == partition.epoch,
            last_report_ms=None if beat is None else beat + partition.lead_ms,
            clock_offset_ms=namespaces.shown_offset(partition.clock_offsets.get(name), beat),
        )
    versioned = partition.states.get(namespaces.entry_of(namespace, name))
    if versioned is None:
        raise errors.UnknownHost(name=name)
    return versioned


def list_state(
    partition: WholePartition, namespace: str, marker: str | None, limit: int
) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
    page, following = partition.page_of_names(namespace, marker, limit)
    if namespace == namespaces.COMPUTE:
        partition.prefetch(providers=page)
    if namespace == namespaces.SERVICE:
        partition.prefetch(services=page)
    return [(name, *get_state(partition, namespace, name)) for name in page], following


def put_state(
    partition: PartitionState, _now: int, namespace: str, name: str, version: int, *, document: Mapping[str, Any]
) -> int:
    """Store a validated document; return its version, which is the position of its last change."""
    if namespace == namespaces.SERVICE:
        return _put_service(partition, name, version, document)
    entry = namespaces.entry_of(namespace, name)
    at, stored = partition.states.get(entry, (0, None))
    if stored is not None and documents.is_same(stored, document):
        return at
    if at != version:
        raise namespaces.conflict(namespace, name, at, version)
    copied = copy.deepcopy(dict(document))
    position = partition.append("state", {namespace: {name: copied}})
    partition.states[entry] = (position, copied)
    if namespace == compute_node.NAMESPACE:
        partition.built[name] = reports.built_in(document)
    _make_members_stale(partition, namespace, stored, document)
    return position


def delete_state(partition: PartitionState, _now: int, namespace: str, name: str, version: int) -> None:
    entry = namespaces.entry_of(namespace, name)
    versioned = partition.states.get(entry)
    if versioned is None:
        return
    if versioned[0] != version:
        raise namespaces.conflict(namespace, name, versioned[0], version)
    partition.append("state", {namespace: {name: None}})
    del partition.states[entry]
    if namespace == compute_node.NAMESPACE:
        partition.built.pop(name, None)
    _make_members_stale(partition, namespace, versioned[1], None)


def _make_members_stale(
    partition: PartitionState, namespace: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> None:
    if namespace == aggregates.NAMESPACE:
        touched = aggregates.touched(before, after)
        partition.prefetch(providers=touched, services=touched)
        partition.make_stale(name for name in touched if name in partition.providers or name in partition.reports)


def _put_service(partition: PartitionState, name: str, version: int, changes: Mapping[str, Any]) -> int:
    """Merge changes into a service's document, and make earlier decisions on its nodes stale."""
    stored = partition.services.get(name)
    if stored is None:
        raise errors.UnknownHost(name=name)
    merged = namespaces.merge(name, stored, version, changes)
    if merged != stored:
        partition.services[name] = merged
        partition.append("service", {name: merged})
        if name in partition.reports:
            partition.make_stale([name])
            if registrations.DUPLICATE in stored and registrations.DUPLICATE not in merged:
                partition.reports[name] = replace(partition.reports[name], returned_ms=None)
    return int(merged["version"])
