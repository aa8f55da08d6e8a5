# SPDX-License-Identifier: Apache-2.0
"""Import of many providers into Redis: one read, and one round trip for many scripts.

All providers of an import are planned on what was there before the first of them. One that this refuses is planned
again when those before it are written. So is one whose plan has read what an earlier one writes: its script does
nothing then.
"""

from collections.abc import Iterator, Sequence

from scheduler_svc.store.providers import planner
from scheduler_svc.store.providers.changes import ImportProvider, Refusal
from scheduler_svc.store.providers.plans import ProviderPlan
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.providers import RedisReads, change, generation_after, script_arguments

PlannedImport = tuple[ImportProvider, ProviderPlan, RedisReads]


def import_all(connection: RedisConnection, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
    refusals: dict[str, Refusal | None] = {}
    group: list[PlannedImport] = []
    for request, planned, reads in _plans(connection, imports):
        if isinstance(planned, Refusal):
            refusals |= _write_group(connection, group)
            refusals[request.provider] = _import_alone(connection, request)
            group = []
        else:
            group.append((request, planned, reads))
    refusals |= _write_group(connection, group)
    return [refusals[request.provider] for request in imports]


def _write_group(connection: RedisConnection, group: Sequence[PlannedImport]) -> dict[str, Refusal | None]:
    """Write planned imports; return by provider why it is refused, or None."""
    changed = [(planned, reads) for _request, planned, reads in group if planned.documents]
    answers = connection.run_all("change_provider", [script_arguments(planned, reads) for planned, reads in changed])
    stale = {
        planned.provider
        for (planned, reads), answer in zip(changed, answers, strict=True)
        if generation_after(connection, reads, answer) is None
    }
    return {
        request.provider: _import_alone(connection, request) if request.provider in stale else None
        for request, _planned, _reads in group
    }


def _import_alone(connection: RedisConnection, request: ImportProvider) -> Refusal | None:
    answer = change(connection, request)
    return answer if isinstance(answer, Refusal) else None


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
