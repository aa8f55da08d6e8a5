# SPDX-License-Identifier: Apache-2.0
"""Writes the records of another Placement to gantt's store."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.store import allocations, paging
from scheduler_svc.store.allocations import MAX_CONSUMERS, ConsumerImport
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import DeleteProvider, ImportProvider, Refusal, RefusalKind
from scheduler_svc.store.providers.checks import MAX_IMPORTS
from scheduler_svc.switching.contents import ConsumerRecord, NameKind, ProviderRecord
from scheduler_svc.switching.store_reader import uuid_of
from scheduler_svc.switching.writer import Refusals, Writer

MARK = {"imported": True}  # in the document of a name that an import created
RETIREMENTS = 5  # attempts to delete a name while providers change
REASONS: Mapping[RefusalKind, str] = {
    RefusalKind.NAME: "its name is that of {provider}",
    RefusalKind.PARENT: "its parent {provider} is not there",
    RefusalKind.LOOP: "its parent is below it",
    RefusalKind.GENERATION: "clients of gantt changed it, or allocated on it, since it was imported",
    RefusalKind.PROVIDER: "it holds from {provider}, which is not there",
    RefusalKind.OWNER: "it holds by a claim of gantt's scheduler, or an agent reports it",
    RefusalKind.CONSUMER: "a client of gantt changed it since it was imported",
    RefusalKind.CHILDREN: "there are providers below it",
    RefusalKind.IN_USE: "consumers hold from it",
}
_INVALID = (errors.InvalidRequest, errors.InvalidName)


class StoreWriter(Writer):
    """Writes to a partition by the verbs for imports, which replace only what they wrote, unless ``overwrite``."""

    threads = 2  # one batch is prepared while the store writes another one

    def __init__(self, store: Store, *, overwrite: bool = False) -> None:
        self._store = store
        self._overwrite = overwrite

    def put_name(self, kind: NameKind, name: str, changed_ms: int) -> None:
        try:
            self._store.put_state(kind, name, 0, {"changed_ms": changed_ms, **MARK})
        except errors.VersionConflict:
            return  # a client created it

    def delete_name(self, kind: NameKind, name: str) -> bool:
        try:
            document = self._store.get_state(kind, name)[1]
        except errors.UnknownHost:
            return False
        position = 0
        may_go = self._overwrite or MARK.items() <= document.items()
        for _ in range(RETIREMENTS if may_go else 0):
            # A name that a provider has exists without its document too.
            refusal = self._store.retire(kind, name, position)
            if refusal is None or refusal.actual is None:
                return refusal is None
            position = refusal.actual
        return False

    def put_providers(self, records: Sequence[ProviderRecord]) -> Refusals:
        imports = [provider_import(record, overwrite=self._overwrite) for record in records]
        refusals: Refusals = {}
        for batch in paging.batches(imports, MAX_IMPORTS):
            try:
                answers = self._store.import_providers(batch)
            except _INVALID:
                refusals |= self._put_each(batch)
            else:
                pairs = zip(batch, answers, strict=True)
                refusals |= {
                    uuid_of(change.provider): _reason(answer) for change, answer in pairs if answer is not None
                }
        return refusals

    def _put_each(self, imports: Sequence[ImportProvider]) -> Refusals:
        """Import providers of which at least one cannot be stored."""
        refusals = {}
        for change in imports:
            try:
                answer = self._store.change_provider(change)
            except _INVALID as error:
                refusals[uuid_of(change.provider)] = str(error)
            else:
                if isinstance(answer, Refusal):
                    refusals[uuid_of(change.provider)] = _reason(answer)
        return refusals

    def delete_provider(self, uuid: str) -> str | None:
        answer = self._store.change_provider(DeleteProvider(names.api_provider(uuid)))
        return _reason(answer) if isinstance(answer, Refusal) and answer.kind is not RefusalKind.PROVIDER else None

    def put_consumers(self, records: Sequence[ConsumerRecord]) -> Refusals:
        refusals: Refusals = {}
        for batch in paging.batches([consumer_import(record) for record in records], MAX_CONSUMERS):
            try:
                refusals |= self._import(batch)
            except _INVALID:
                imports, invalid = valid_imports(batch)
                refusals |= invalid | self._import(imports)
        return refusals

    def delete_consumers(self, records: Sequence[ConsumerRecord]) -> Refusals:
        return self.put_consumers([dataclasses.replace(record, allocations={}) for record in records])

    def _import(self, imports: Sequence[ConsumerImport]) -> Refusals:
        """Import consumers together, without those that are refused."""
        refusals: Refusals = {}
        while imports:
            refusal = self._store.import_allocations(imports, overwrite=self._overwrite)
            if refusal is None:
                break
            refusals[refusal.consumer] = _reason(refusal)
            imports = [item for item in imports if item.consumer != refusal.consumer]
        return refusals


class StoreRehearsal(Writer):
    """Writes nothing, and refuses what the store would refuse whatever it contains."""

    threads = 1

    def __init__(self, taken_names: Collection[str]) -> None:
        """``taken_names`` are the names of the providers that agents report."""
        self._taken_names = taken_names

    def put_name(self, kind: NameKind, name: str, changed_ms: int) -> None:
        return

    def delete_name(self, kind: NameKind, name: str) -> bool:
        return True

    def put_providers(self, records: Sequence[ProviderRecord]) -> Refusals:
        refusals = {}
        for record in records:
            if record.name in self._taken_names:
                refusals[record.uuid] = REASONS[RefusalKind.NAME].format(provider=record.name)
                continue
            try:
                checks.check(provider_import(record))
            except _INVALID as error:
                refusals[record.uuid] = str(error)
        return refusals

    def delete_provider(self, uuid: str) -> str | None:
        return None

    def put_consumers(self, records: Sequence[ConsumerRecord]) -> Refusals:
        return valid_imports([consumer_import(record) for record in records])[1]

    def delete_consumers(self, records: Sequence[ConsumerRecord]) -> Refusals:
        return {}


def provider_import(record: ProviderRecord, *, overwrite: bool = False) -> ImportProvider:
    """Return the change that stores a provider."""
    return ImportProvider(
        names.api_provider(record.uuid),
        record.name,
        None if record.parent is None else names.api_provider(record.parent),
        record.inventories,
        record.traits,
        record.aggregates,
        record.generation,
        record.created_ms,
        record.changed_ms,
        overwrite=overwrite,
    )


def consumer_import(record: ConsumerRecord) -> ConsumerImport:
    """Return the import that stores what a consumer holds."""
    parts = {names.api_provider(uuid): amounts for uuid, amounts in record.allocations.items()}
    return ConsumerImport(
        record.uuid, parts, record.project, record.user, record.type, record.generation, record.changed_ms
    )


def valid_imports(imports: Sequence[ConsumerImport]) -> tuple[list[ConsumerImport], Refusals]:
    """Return the imports that can be stored, and why others cannot."""
    valid, refusals = [], {}
    for item in imports:
        try:
            allocations.check_imports([item])
        except _INVALID as error:
            refusals[item.consumer] = str(error)
        else:
            valid.append(item)
    return valid, refusals


def _reason(refusal: Refusal) -> str:
    text = REASONS.get(refusal.kind, refusal.kind)
    return text.format(provider=uuid_of(refusal.provider))
