# SPDX-License-Identifier: Apache-2.0
"""Import of many providers into Redis: one read, and one round trip for many scripts.

All providers of an import are planned on what was there before the first of them. One that this refuses, or that
reads what an earlier one writes, is planned again when those before it are written.
"""

from collections.abc import Iterator, Sequence

from scheduler_svc.store.providers import planner
from scheduler_svc.store.providers.changes import ImportProvider, Refusal
from scheduler_svc.store.providers.plans import ProviderPlan
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.providers import RedisReads, change, generation_after, script_arguments


def import_all(connection: RedisConnection, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
    refusals: dict[str, Refusal | None] = {}
    group = _Group()
    for request, planned, reads in _plans(connection, imports):
        if isinstance(planned, Refusal) or group.affects(reads):
            refusals |= _write_group(connection, group)
            refusals[request.provider] = _import_alone(connection, request)
        else:
            group.add(request, planned, reads)
    refusals |= _write_group(connection, group)
    return [refusals[request.provider] for request in imports]


def _write_group(connection: RedisConnection, group: "_Group") -> dict[str, Refusal | None]:
    """Write what was added since the last call; return by provider why it is refused, or None."""
    members, group.members = group.members, []
    changed = [(planned, reads) for _request, planned, reads in members if planned.documents]
    answers = connection.run_all("change_provider", [script_arguments(planned, reads) for planned, reads in changed])
    stale = {
        planned.provider
        for (planned, reads), answer in zip(changed, answers, strict=True)
        if generation_after(connection, reads, answer) is None
    }
    return {
        request.provider: _import_alone(connection, request) if request.provider in stale else None
        for request, _planned, _reads in members
    }


def _import_alone(connection: RedisConnection, request: ImportProvider) -> Refusal | None:
    answer = change(connection, request)
    return answer if isinstance(answer, Refusal) else None


class _Group:
    """Imports whose scripts are sent together."""

    def __init__(self) -> None:
        self.members: list[tuple[ImportProvider, ProviderPlan, RedisReads]] = []
        self._changed: set[str] = set()  # what was added so far writes, or the children of which it changes

    def add(self, request: ImportProvider, planned: ProviderPlan, reads: RedisReads) -> None:
        self.members.append((request, planned, reads))
        self._changed |= planned.documents.keys()
        self._changed.update((*planned.linked.values(), *planned.unlinked.values()))

    def affects(self, reads: RedisReads) -> bool:
        """Return whether an import that was added writes what a plan has read."""
        return not self._changed.isdisjoint(provider for provider, *_parts in reads.compared())


def _plans(
    connection: RedisConnection, imports: Sequence[ImportProvider]
) -> Iterator[tuple[ImportProvider, ProviderPlan | Refusal, RedisReads]]:
    """Yield each import with its plan, and what that read."""
    related = [planner.related(request) for request in imports]
    together = RedisReads(connection)
    together.fetch(
        [provider for ids, _names in related for provider in ids], [name for _ids, names in related for name in names]
    )
    for request, (ids, names) in zip(imports, related, strict=True):
        reads = together.part(ids, names)
        yield request, planner.plan(request, reads, reads.clock_ms), reads
