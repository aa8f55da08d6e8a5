# SPDX-License-Identifier: Apache-2.0
"""One pass of a copy: writes what differs, and nothing else."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from scheduler_svc.switching.contents import ConsumerRecord, Contents, ProviderRecord
from scheduler_svc.switching.writer import Refusals, Writer

BATCH = 1000  # consumers that are written together
ROUNDS = 3  # in one pass: a name may become free, or a provider idle, by what is written after it
CHANGED_IN_GANTT = "clients of gantt changed it, or made it"

Progress = Callable[[str, int, int], None]  # what, how many are written, of how many


@dataclass(slots=True)
class CopyOutcome:
    """What a pass wrote, by kind, and why it could not write others, by (kind, UUID)."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: dict[tuple[str, str], str] = field(default_factory=dict)


class CopyPass:
    """Makes ``target`` equal to ``source``; ``target`` is updated as records are written.

    The order is that of the conditions: consumers end before providers go, parents exist before children, providers
    before consumers hold from them.
    """

    def __init__(self, source: Contents, target: Contents, writer: Writer, progress: Progress) -> None:
        self._source = source.with_least_generation(target.generation_base)
        self._target = target
        self._writer = writer
        self._progress = progress
        self._outcome = CopyOutcome()

    def run(self) -> CopyOutcome:
        """Write; raises StoreUnavailable or PlacementUnavailable, and then the pass may be repeated."""
        self._put_names()
        for _ in range(ROUNDS):
            before = self._outcome.counts.total()
            self._outcome.refusals.clear()
            self._end_consumers()
            self._put_providers()
            self._put_consumers()
            self._delete_providers()
            if not self._outcome.refusals or self._outcome.counts.total() == before:
                break
        self._delete_names()
        return self._outcome

    def _put_names(self) -> None:
        for key in self._source.names.keys() - self._target.names.keys():
            self._writer.put_name(*key, self._source.names[key])
            self._target.names[key] = self._source.names[key]
            self._outcome.counts["names"] += 1

    def _delete_names(self) -> None:
        for key in self._target.names.keys() - self._source.names.keys():
            self._writer.delete_name(*key)

    def _end_consumers(self) -> None:
        surplus = [
            record
            for uuid, record in self._target.consumers.items()
            if uuid not in self._source.consumers and uuid not in self._target.protected
        ]
        for batch in _batches(surplus):
            refusals = self._writer.delete_consumers(batch)
            for record in batch:
                if record.uuid not in refusals:
                    del self._target.consumers[record.uuid]
            self._count("ended consumers", "consumer", len(batch), refusals)

    def _put_providers(self) -> None:
        changed = [record for record in self._source.parents_first() if self._differs(record)]
        for number, record in enumerate(changed):
            self._progress("providers", number, len(changed))
            is_protected = record.uuid in self._target.protected
            refusal = CHANGED_IN_GANTT if is_protected else self._writer.put_provider(record)
            if refusal is None:
                self._target.providers[record.uuid] = record
            self._count("providers", "provider", 1, {} if refusal is None else {record.uuid: refusal})
        self._progress("providers", len(changed), len(changed))

    def _differs(self, record: ProviderRecord) -> bool:
        return self._target.providers.get(record.uuid) != record

    def _put_consumers(self) -> None:
        refusals, changed = {}, []
        for uuid, record in self._source.consumers.items():
            if self._target.consumers.get(uuid) == record:
                continue
            missing = [provider for provider in record.allocations if provider not in self._target.providers]
            if uuid in self._target.protected:
                refusals[uuid] = CHANGED_IN_GANTT
            elif missing:
                refusals[uuid] = f"it holds from {missing[0]}, which is not there"
            else:
                changed.append(record)
        self._count("consumers", "consumer", len(refusals), refusals)
        for number, batch in enumerate(_batches(changed)):
            self._progress("consumers", number * BATCH, len(changed))
            refusals = self._writer.put_consumers(batch)
            self._target.consumers.update((record.uuid, record) for record in batch if record.uuid not in refusals)
            self._count("consumers", "consumer", len(batch), refusals)
        self._progress("consumers", len(changed), len(changed))

    def _delete_providers(self) -> None:
        for record in reversed(self._target.parents_first()):
            if record.uuid in self._source.providers or record.uuid in self._target.protected:
                continue
            refusal = self._writer.delete_provider(record.uuid)
            if refusal is None:
                del self._target.providers[record.uuid]
            self._count("deleted providers", "provider", 1, {} if refusal is None else {record.uuid: refusal})

    def _count(self, what: str, kind: str, number: int, refusals: Refusals) -> None:
        if number > len(refusals):
            self._outcome.counts[what] += number - len(refusals)
        self._outcome.refusals.update(((kind, uuid), why) for uuid, why in refusals.items())


def _batches(records: Iterable[ConsumerRecord]) -> Iterable[list[ConsumerRecord]]:
    listed = list(records)
    return (listed[start : start + BATCH] for start in range(0, len(listed), BATCH))
