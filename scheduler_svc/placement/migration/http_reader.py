# SPDX-License-Identifier: Apache-2.0
"""Reader of another Placement over HTTP. Each record is consistent, but the records are of different times."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from requests import Response

from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.migration.dump import CustomNameKind, PlacementDump, is_custom
from scheduler_svc.placement.migration.http_client import PlacementClient
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.providers.changes import ImportProvider

THREADS = 8
READS = 10  # attempts to read a provider that keeps changing
NO_TYPE = "unknown"  # Placement's name for the type of consumers without a type

T = TypeVar("T")
S = TypeVar("S")


class HttpReader:
    """Reader of another Placement.

    A provider whose generation changes during a read is read again, and listed as ``unread`` after READS attempts. The
    allocations of its consumers are read nevertheless, because they depend on the consumers' generations.
    """

    def __init__(self, client: PlacementClient, progress: Callable[[str, int, int], None] | None = None) -> None:
        self._client = client
        self._progress = progress or (lambda what, number, total: None)

    def read(self) -> PlacementDump:
        names = dict.fromkeys(self._custom_names(), 0)
        listed = self._client.document("/resource_providers")["resource_providers"]
        with ThreadPoolExecutor(THREADS) as threads:
            try:
                providers, unread, holders = self._providers(threads, listed)
                read = self._each(threads, "read consumers", self._consumer, sorted(holders))
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise
        consumers = {record.consumer: record for record in read if record is not None}
        return PlacementDump(providers, consumers, names, unread=unread)

    def _providers(
        self, threads: ThreadPoolExecutor, listed: list[dict[str, Any]]
    ) -> tuple[dict[str, ImportProvider], dict[str, str], set[str]]:
        """Return (providers, {UUID: reason} of unread providers, consumers of both)."""
        providers: dict[str, ImportProvider] = {}
        unread: dict[str, str] = {}
        holders: set[str] = set()
        for entry, read in zip(listed, self._each(threads, "read providers", self._provider, listed), strict=True):
            if read is None:
                continue  # deleted after the list was read
            record, consumers = read
            holders |= consumers
            if record is None:
                unread[entry["uuid"]] = f"its name is {entry['name']}, and it changed during each of {READS} reads"
            else:
                providers[record.provider] = record
        return providers, unread, holders

    def _provider(self, entry: Mapping[str, Any]) -> tuple[ImportProvider | None, frozenset[str]] | None:
        """Return (provider, or None if it changed during every read; consumers), or None if it was deleted."""
        consumers: frozenset[str] = frozenset()
        for _ in range(READS):
            path = f"/resource_providers/{entry['uuid']}"
            parts = ("inventories", "traits", "aggregates", "allocations")
            answers = [self._client.get(f"{path}/{part}") for part in parts]
            responses = [answer for answer in answers if answer is not None]
            if len(responses) < len(parts):
                return None
            documents = [response.json() for response in responses]
            inventories, traits, aggregates, allocations = documents
            consumers = frozenset(allocations["allocations"])
            generations = {document["resource_provider_generation"] for document in documents}
            if len(generations) == 1:
                changed_ms = max(_modified(response) for response in responses[:2])
                record = ImportProvider(
                    entry["uuid"],
                    entry["name"],
                    entry["parent_provider_uuid"],
                    {name: Inventory.from_valid(raw) for name, raw in inventories["inventories"].items()},
                    frozenset(traits["traits"]),
                    frozenset(aggregates["aggregates"]),
                    generations.pop(),
                    changed_ms,
                    changed_ms,
                )
                return record, consumers
        return None, consumers

    def _consumer(self, uuid: str) -> ConsumerImport | None:
        response = self._client.get(f"/allocations/{uuid}")
        document = {} if response is None else response.json()
        if response is None or not document.get("allocations"):
            return None  # ended after its provider was read
        consumer_type = document.get("consumer_type", NO_TYPE)
        return ConsumerImport(
            uuid,
            {provider: dict(part["resources"]) for provider, part in document["allocations"].items()},
            document["project_id"],
            document["user_id"],
            "" if consumer_type == NO_TYPE else consumer_type,
            document["consumer_generation"],
            _modified(response),
        )

    def _custom_names(self) -> Iterable[tuple[CustomNameKind, str]]:
        traits = self._client.document("/traits?name=startswith:CUSTOM_")["traits"]
        classes = self._client.document("/resource_classes")["resource_classes"]
        yield from ((CustomNameKind.TRAIT, name) for name in traits)
        yield from ((CustomNameKind.RESOURCE_CLASS, entry["name"]) for entry in classes if is_custom(entry["name"]))

    def _each(self, threads: ThreadPoolExecutor, what: str, read: Callable[[T], S], items: list[T]) -> list[S]:
        results = []
        for result in threads.map(read, items):
            results.append(result)
            self._progress(what, len(results), len(items))
        return results


def _modified(response: Response) -> int:
    """Return the time of the last change in ms, exact to the second; 0 if unknown."""
    text = response.headers.get("last-modified")
    return 0 if text is None else int(parsedate_to_datetime(text).timestamp() * 1000)
