# SPDX-License-Identifier: Apache-2.0
"""Writer of another Placement's records to gantt's store."""

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.placement.migration.dump import CustomNameKind, Record
from scheduler_svc.placement.migration.store_reader import uuid_of
from scheduler_svc.placement.migration.writer import Refusals, Writer
from scheduler_svc.store import allocations, paging
from scheduler_svc.store.allocations import MAX_CONSUMERS, ConsumerImport
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import DeleteProvider, ImportProvider, Refusal, RefusalKind
from scheduler_svc.store.providers.checks import MAX_IMPORTS

MARK = {"imported": True}  # Mark in the document of a name that an import created.
RETIREMENTS = 5  # attempts to delete a name while providers change
REASONS: Mapping[RefusalKind, str] = {
    RefusalKind.NAME: "its name belongs to {provider}",
    RefusalKind.PARENT: "its parent {provider} does not exist",
    RefusalKind.LOOP: "its parent is below it",
    RefusalKind.GENERATION: "clients of gantt changed it or allocated on it since its import",
    RefusalKind.PROVIDER: "it has allocations on {provider}, which does not exist",
    RefusalKind.OWNER: "gantt's scheduler claimed for it, or an agent reports it",
    RefusalKind.CONSUMER: "a client of gantt changed it since its import",
    RefusalKind.CHILDREN: "there are providers below it",
    RefusalKind.IN_USE: "consumers have allocations on it",
}
_INVALID = (errors.InvalidRequest, errors.InvalidName)


class StoreWriter(Writer):
    """Writer to a partition with import verbs, which replace only imported records unless ``overwrite``.

    A dry run writes nothing. It refuses a record only if its name is in ``taken_names`` (names of agents' providers),
    or if the store would refuse it in any state.
    """

    def __init__(
        self, store: Store, *, overwrite: bool = False, dry_run: bool = False, taken_names: Collection[str] = ()
    ) -> None:
        self._store = store
        self._overwrite = overwrite
        self._is_dry_run = dry_run
        self._taken_names = taken_names
        self.threads = 1 if dry_run else 2  # One thread prepares a batch while the store writes the other's.

    def put_name(self, kind: CustomNameKind, name: str, changed_ms: int) -> None:
        if not self._is_dry_run:
            with contextlib.suppress(errors.VersionConflict):  # a client created the name
                self._store.put_state(kind, name, 0, {"changed_ms": changed_ms, **MARK})

    def delete_name(self, kind: CustomNameKind, name: str) -> bool:
        if self._is_dry_run:
            return True
        try:
            document = self._store.get_state(kind, name)[1]
        except errors.UnknownHost:
            return False
        position = 0
        may_go = self._overwrite or MARK.items() <= document.items()
        for _ in range(RETIREMENTS if may_go else 0):
            # A name used by a provider exists even without its document.
            refusal = self._store.retire(kind, name, position)
            if refusal is None or refusal.actual is None:
                return refusal is None
            position = refusal.actual
        return False

    def put_providers(self, records: Sequence[ImportProvider]) -> Refusals:
        conflicts = {record.provider: record.name for record in records if record.name in self._taken_names}
        refusals = {uuid: REASONS[RefusalKind.NAME].format(provider=name) for uuid, name in conflicts.items()}
        imports = [
            provider_import(record, overwrite=self._overwrite) for record in records if record.provider not in refusals
        ]
        return refusals | _put(imports, MAX_IMPORTS, self._import_providers)

    def delete_provider(self, uuid: str) -> str | None:
        if self._is_dry_run:
            return None
        answer = self._store.change_provider(DeleteProvider(names.api_provider(uuid)))
        return _reason(answer) if isinstance(answer, Refusal) and answer.kind is not RefusalKind.PROVIDER else None

    def put_consumers(self, records: Sequence[ConsumerImport]) -> Refusals:
        return _put([consumer_import(record) for record in records], MAX_CONSUMERS, self._import_consumers)

    def _import_providers(self, imports: Sequence[ImportProvider]) -> Refusals:
        if self._is_dry_run:
            checks.check_imports(imports)
            return {}
        pairs = zip(imports, self._store.import_providers(imports), strict=True)
        return {uuid_of(change.provider): _reason(answer) for change, answer in pairs if answer is not None}

    def _import_consumers(self, imports: Sequence[ConsumerImport]) -> Refusals:
        if self._is_dry_run:
            allocations.check_imports(imports)
            return {}
        refusals: Refusals = {}
        while imports and (refusal := self._store.import_allocations(imports, overwrite=self._overwrite)) is not None:
            refusals[refusal.consumer] = _reason(refusal)
            imports = [item for item in imports if item.consumer != refusal.consumer]
        return refusals


def provider_import(record: ImportProvider, *, overwrite: bool = False) -> ImportProvider:
    parent = None if record.parent is None else names.api_provider(record.parent)
    return replace(record, provider=names.api_provider(record.provider), parent=parent, overwrite=overwrite)


def consumer_import(record: ConsumerImport) -> ConsumerImport:
    parts = {names.api_provider(uuid): amounts for uuid, amounts in record.allocations.items()}
    return replace(record, allocations=parts)


def _put(imports: Sequence[Record], size: int, write: Callable[[Sequence[Record]], Refusals]) -> Refusals:
    """Write imports in batches; split a batch with an invalid import until that import is alone."""
    refusals: Refusals = {}
    for batch in paging.batches(imports, size):
        try:
            refusals |= write(batch)
        except _INVALID as error:
            if len(batch) == 1:
                refusals[_uuid(batch[0])] = str(error)
            else:
                refusals |= _put(batch, (len(batch) + 1) // 2, write)
    return refusals


def _uuid(item: ImportProvider | ConsumerImport) -> str:
    return uuid_of(item.provider) if isinstance(item, ImportProvider) else item.consumer


def _reason(refusal: Refusal) -> str:
    text = REASONS.get(refusal.kind, refusal.kind)
    return text.format(provider=uuid_of(refusal.provider))
