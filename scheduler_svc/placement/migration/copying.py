# SPDX-License-Identifier: Apache-2.0
"""One pass of a copy, which writes only differences."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from scheduler_svc.placement.migration.dump import PlacementDump, are_same, common_time_unit
from scheduler_svc.placement.migration.writer import Refusals, Writer
from scheduler_svc.store import paging
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

BATCH = 1000  # consumers per write
PROVIDER_BATCH = 500
ROUNDS = 3  # maximum per pass: a later write may free a name or a provider that an earlier one needs
CHANGED_IN_GANTT = "clients of gantt changed or created it"

Batch = Sequence[ConsumerImport]
Progress = Callable[[str, int, int], None]  # called with the kind of record, the number written, and the total


@dataclass(slots=True)
class CopyOutcome:
    """Number of writes by kind, and {(kind, UUID): refusal}."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: dict[tuple[str, str], str] = field(default_factory=dict)


class CopyPass:
    """Pass that makes ``target`` equal to ``source`` with ``writer``, and updates ``target`` after each write.

    The order of writes ends consumers before deleting their providers, and creates parents before children and
    providers before allocations.
    """

    def __init__(self, source: PlacementDump, target: PlacementDump, writer: Writer, progress: Progress) -> None:
        self._source = source.with_least_generation(target.generation_base)
        self._target = target
        self._time_unit_ms = common_time_unit(source, target)
        self._writer = writer
        self._progress = progress
        self._outcome = CopyOutcome()

    def run(self) -> CopyOutcome:
        """Write the differences. May be repeated after StoreUnavailable or PlacementUnavailable."""
        self._put_names()
        for _ in range(ROUNDS):
            before = self._outcome.counts.total()
            self._outcome.refusals.clear()
            self._end_consumers()
            self._put_batch(temporary_records(self._source, self._target), "temporary names")
            self._put_providers()
            self._put_consumers()
            self._delete_providers()
            if not self._outcome.refusals or self._outcome.counts.total() == before:
                break
        self._delete_names()
        self._count("providers", "provider", len(self._source.unread), self._source.unread)
        return self._outcome

    def _put_names(self) -> None:
        for key in self._source.names.keys() - self._target.names.keys():
            self._writer.put_name(*key, self._source.names[key])
            self._target.names[key] = self._source.names[key]
            self._outcome.counts["names"] += 1

    def _delete_names(self) -> None:
        for key in self._target.names.keys() - self._source.names.keys():
            if self._writer.delete_name(*key):
                del self._target.names[key]
                self._outcome.counts["deleted names"] += 1

    def _end_consumers(self) -> None:
        surplus = [
            replace(record, allocations={})
            for uuid, record in self._target.consumers.items()
            if uuid not in self._source.consumers and uuid not in self._target.protected
        ]
        for batch, refusals in self._write_together(surplus):
            for record in batch:
                if record.consumer not in refusals:
                    del self._target.consumers[record.consumer]
            self._count("ended consumers", "consumer", len(batch), refusals)

    def _put_providers(self) -> None:
        levels = [[record for record in level if self._differs(record)] for level in self._source.levels()]
        total, number = sum(map(len, levels)), 0
        for level in levels:
            for batch in paging.batches(level, PROVIDER_BATCH):
                self._progress("providers", number, total)
                self._put_batch(batch, "providers")
                number += len(batch)
        self._progress("providers", total, total)

    def _put_batch(self, batch: Sequence[ImportProvider], what: str) -> None:
        refusals = {record.provider: CHANGED_IN_GANTT for record in batch if record.provider in self._target.protected}
        refusals |= self._writer.put_providers([record for record in batch if record.provider not in refusals])
        self._target.providers.update((record.provider, record) for record in batch if record.provider not in refusals)
        self._count(what, "provider", len(batch), refusals)

    def _differs(self, record: ImportProvider) -> bool:
        return not are_same(self._target.providers.get(record.provider), record, self._time_unit_ms)

    def _put_consumers(self) -> None:
        refusals, changed = {}, []
        for uuid, record in self._source.consumers.items():
            if are_same(self._target.consumers.get(uuid), record, self._time_unit_ms):
                continue
            missing = [provider for provider in record.allocations if provider not in self._target.providers]
            if uuid in self._target.protected:
                refusals[uuid] = CHANGED_IN_GANTT
            elif missing:
                refusals[uuid] = f"it has allocations on {missing[0]}, which does not exist"
            else:
                changed.append(record)
        self._count("consumers", "consumer", len(refusals), refusals)
        changed.sort(key=_first_provider)
        for number, (batch, refusals) in enumerate(self._write_together(changed)):
            self._progress("consumers", number * BATCH, len(changed))
            self._target.consumers |= {record.consumer: record for record in batch if record.consumer not in refusals}
            self._count("consumers", "consumer", len(batch), refusals)
        self._progress("consumers", len(changed), len(changed))

    def _delete_providers(self) -> None:
        for record in reversed([record for level in self._target.levels() for record in level]):
            lasting = (self._source.providers, self._source.unread, self._target.protected)
            if any(record.provider in uuids for uuids in lasting):
                continue
            refusal = self._writer.delete_provider(record.provider)
            if refusal is None:
                del self._target.providers[record.provider]
            self._count("deleted providers", "provider", 1, {} if refusal is None else {record.provider: refusal})

    def _write_together(self, records: Batch) -> Iterator[tuple[Batch, Refusals]]:
        """Write consumers in concurrent batches; yield (batch, its refusals)."""
        listed = list(paging.batches(records, BATCH))
        with ThreadPoolExecutor(self._writer.threads) as threads:
            try:
                yield from zip(listed, threads.map(self._writer.put_consumers, listed), strict=True)
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise

    def _count(self, what: str, kind: str, number: int, refusals: Refusals) -> None:
        if number > len(refusals):
            self._outcome.counts[what] += number - len(refusals)
        self._outcome.refusals.update(((kind, uuid), why) for uuid, why in refusals.items())


def _first_provider(record: ConsumerImport) -> str:
    """Return a consumer's sort key. Sorting by provider makes each batch change few providers' sums."""
    return next(iter(record.allocations), "")


TEMPORARY = "renamed-"  # Prefix of provider names during an exchange.


def temporary_records(source: PlacementDump, target: PlacementDump) -> list[ImportProvider]:
    """Return the target's providers that must give up their names to others, with temporary names."""
    holders = {record.name: uuid for uuid, record in target.providers.items()}
    former = {uuid: target.providers[uuid].name for uuid in source.providers if uuid in target.providers}
    names = {
        uuid: record.name
        for uuid, record in source.providers.items()
        if former.get(uuid) != record.name and uuid not in target.protected
    }
    resolvable: dict[str, bool] = {}
    return [
        replace(target.providers[holder], name=TEMPORARY + holder)
        for uuid in names
        if _is_resolvable(uuid, names, holders, resolvable) and (holder := holders.get(names[uuid])) is not None
    ]


def _is_resolvable(
    uuid: str, names: Mapping[str, str], holders: Mapping[str, str], resolvable: dict[str, bool]
) -> bool:
    """Return whether a provider gets its name once all others gave up theirs; memoized in ``resolvable``."""
    path: dict[str, None] = {}
    current: str | None = uuid
    while current is not None and current in names and current not in path and current not in resolvable:
        path[current] = None
        current = holders.get(names[current])
    answer = current is None or current in path or resolvable.get(current, False)
    resolvable.update(dict.fromkeys(path, answer))
    return resolvable[uuid]
