# SPDX-License-Identifier: Apache-2.0
"""Verbs that read and change providers of the Placement API."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace

from scheduler_svc.store import namespaces, reports
from scheduler_svc.store.providers import planner
from scheduler_svc.store.providers.changes import (
    ImportProvider,
    ProviderChange,
    ProviderPlan,
    ProviderReads,
    ProviderState,
    Refusal,
    RefusalKind,
)
from scheduler_svc.store.verbs.partition import PartitionState
from scheduler_svc.store.verbs.states import delete_state, drop_nodes


def reads_of(partition: PartitionState) -> ProviderReads:
    return ProviderReads(
        partition.generation_base,
        partition.generation_of,
        partition.providers,
        partition.used,
        partition.children,
        partition.provider_names,
        lambda providers: partition.prefetch(providers=providers),
    )


def read(partition: PartitionState, ids: Sequence[str]) -> dict[str, ProviderState]:
    partition.prefetch(providers=ids)
    reads = reads_of(partition)
    return {
        provider: planner.state_after(ProviderPlan(provider), reads, reads.generation(provider))
        for provider in ids
        if provider in partition.providers
    }


def read_generations(partition: PartitionState, ids: Sequence[str]) -> dict[str, int]:
    partition.prefetch(providers=ids)
    return {provider: partition.generation_of(provider) for provider in ids}


def change(partition: PartitionState, now: int, request: ProviderChange) -> ProviderState | Refusal:
    partition.expire(now)
    partition.flush(now)
    _prefetch(partition, [request])
    planned = _plan(partition, now, request)
    if isinstance(planned, Refusal):
        return planned
    provider = planned.provider
    used, children = partition.peek(partition.used, provider, {}), partition.peek(partition.children, provider, [])
    reads = replace(reads_of(partition), used={provider: used}, children={provider: children})
    state = planner.state_after(planned, reads, 0)
    _apply(partition, planned, now)
    return copy.deepcopy(replace(state, generation=partition.generation_of(provider, conflicts_on_change=False)))


def import_all(partition: PartitionState, now: int, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
    partition.expire(now)
    partition.flush(now)
    _prefetch(partition, imports)
    refusals: list[Refusal | None] = []
    for request in imports:
        planned = _plan(partition, now, request)
        refusals.append(planned if isinstance(planned, Refusal) else None)
        if isinstance(planned, ProviderPlan):
            _apply(partition, planned, now)
    return refusals


def _prefetch(partition: PartitionState, requests: Sequence[ProviderChange]) -> None:
    """Prefetch the rows that every plan reads. A requested name may also be the id of an agent's provider."""
    related = [planner.related(request) for request in requests]
    provider_names = [name for _ids, provider_names in related for name in provider_names]
    partition.prefetch(
        providers=[*(provider for ids, _names in related for provider in ids), *provider_names],
        provider_names=provider_names,
    )


def _plan(partition: PartitionState, now: int, request: ProviderChange) -> ProviderPlan | Refusal:
    return planner.plan(request, reads_of(partition), now + partition.lead_ms)


def retire(partition: PartitionState, now: int, namespace: str, name: str, as_of: int) -> Refusal | None:
    if partition.vocabulary > as_of:
        return Refusal(RefusalKind.BEHIND, name, (), as_of, partition.vocabulary)
    versioned = partition.states.get(namespaces.entry_of(namespace, name))
    if versioned is not None:
        delete_state(partition, now, namespace, name, versioned[0])
    return None


def _apply(partition: PartitionState, planned: ProviderPlan, now: int) -> None:
    provider = planned.provider
    documents = {name: document for name, document in planned.documents.items() if document is not None}
    if planned.generation is not None:
        partition.reach(planned.generation)
        partition.set_generation(provider, planned.generation)
    if documents:
        position = partition.append("provider", documents)
        partition.providers.update({name: dict(document) for name, document in documents.items()})
        if planned.has_new_inventories:
            partition.capacity[provider] = reports.capacity_of(documents[provider])
            partition.changed[provider] = position
            partition.update_excess(provider, now, flag=True)
    if planned.bump:
        partition.increase_generation(provider)
    drop_nodes(partition, sorted(planned.documents.keys() - documents.keys()), now)
    _apply_names(partition, planned.names)
    partition.link_children(planned.linked, planned.unlinked)
    partition.make_stale(planned.stale_roots)
    if planned.has_new_inventories or planned.stale_roots:
        partition.vocabulary = partition.position


def _apply_names(partition: PartitionState, changes: Mapping[str, str | None]) -> None:
    for name, provider in changes.items():
        if provider is None:
            del partition.provider_names[name]
        else:
            partition.provider_names[name] = provider
