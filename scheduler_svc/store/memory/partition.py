# SPDX-License-Identifier: Apache-2.0
"""Partition state in dictionaries."""

from collections import OrderedDict, deque
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Unpack

from rpcapi.bounds import CollectionSize, estimate
from rpcapi.resources import names
from scheduler_svc.core.records import Claim, LogEntry
from scheduler_svc.store import documents, namespaces, paging
from scheduler_svc.store.bounded import DOCUMENTS, MAPPINGS
from scheduler_svc.store.decisions import project_of, record_bytes
from scheduler_svc.store.tallies import Tally
from scheduler_svc.store.verbs.contents import ALL, RowNames
from scheduler_svc.store.verbs.whole_partition import WholePartition


class _NewestLast(OrderedDict[str, int]):
    """{consumer: time of its last end}, oldest first. Partition time never runs back, so a new time goes last."""

    def __setitem__(self, name: str, at_ms: int) -> None:
        super().__setitem__(name, at_ms)
        self.move_to_end(name)


class MemoryPartition(WholePartition):
    def __init__(self, log_length: int, *, by_group: bool = False) -> None:
        super().__init__()
        self.by_group = by_group
        self.epoch = self.position = 0
        self.time_ms = self.clock_ms = None
        self.claims, self.ended, self.deadlines = {}, {}, {}
        self.unverified, self.sources, self.holders, self.tallies = {}, {}, {}, {}
        self.ended_at = _NewestLast()
        self.groups, self.pins = {}, {}
        self.providers, self.capacity, self.used = {}, {}, {}
        self.changed, self.eligible, self.built, self.excess = {}, {}, {}, {}
        self.generations, self.children, self.provider_names = {}, {}, {}
        self.generation_base = self.vocabulary = 0
        self.services, self.reports, self.beats, self.alive, self.opened = {}, {}, {}, {}, {}
        self.clock_offsets, self.states = {}, {}
        self.awaited: dict[str, bool] = {}
        self._log: deque[LogEntry] = deque(maxlen=log_length)
        self._decision = self._decision_bytes = 0  # number of the newest decision, bytes of all decisions
        # {number: (request id, document, bytes)}, oldest first
        self._decisions: OrderedDict[int, tuple[str, dict[str, Any], int]] = OrderedDict()
        # {request id or (request id, project): number of its newest decision}
        self._decided: dict[str | tuple[str, str], int] = {}

    def prefetch(self, **row_names: Unpack[RowNames]) -> None:
        pass

    def append_entry(self, entry: LogEntry) -> None:
        self._log.append(entry)

    def entries(self, position: int, limit: int) -> list[LogEntry]:
        return [entry for entry in self._log if entry.position > position][:limit]

    def due_consumers(self, until: int, limit: int) -> list[str]:
        due = sorted((at, consumer) for consumer, at in self.deadlines.items() if at <= until)
        return [consumer for _at, consumer in due[:limit]]

    def claims_on(self, host: str, limit: int = ALL) -> list[Claim]:
        matches = (claim for claim in self.claims.values() if names.host_of(claim.host) == host)
        return sorted(matches, key=lambda claim: f"{claim.host}|{claim.consumer}")[:limit]

    def page_of_claims(
        self, host: str | None, consumer: str | None, marker: str | None, limit: int
    ) -> paging.Page[Claim]:
        matches = {
            f"{claim.host}|{claim.consumer}": claim
            for claim in self.claims.values()
            if consumer in (None, claim.consumer, claim.instance) and (host is None or names.matches(claim.host, host))
        }
        shown, following = paging.cut(matches, marker, limit)
        return [matches[key] for key in shown], following

    def claims_at(self, provider: str, marker: str, limit: int) -> list[str]:
        head = f"{provider}|"
        indexed = (key.removeprefix(head) for key in self.holders if key.startswith(head))
        hosted = (name for name, claim in self.claims.items() if claim.host == provider)
        return sorted(name for name in {*indexed, *hosted} if name > marker)[:limit]

    def tallies_of(self, project: str) -> list[Tally]:
        return [tally for tally in self.tallies.values() if tally["owner"][0] == project]

    def counts(self) -> Mapping[str, int]:
        prepared = len(self.deadlines)
        return {"prepared": prepared, "confirmed": len(self.claims) - prepared}

    def sizes(self) -> Mapping[str, CollectionSize]:
        sizes = {name: estimate(*map(self.whole, mappings)) for name, mappings in MAPPINGS.items()}
        sizes[DOCUMENTS] = estimate(self.states)
        sizes["log"] = estimate({entry.position: entry for entry in self._log})
        sizes["decisions"] = CollectionSize(len(self._decisions), self._decision_bytes)
        return sizes

    def trim_log(self, length: int) -> None:
        while len(self._log) > length:
            self._log.popleft()

    def old_tombstones(self, until: int, limit: int) -> list[str]:
        return list(islice(takewhile(lambda consumer: self.ended_at[consumer] <= until, self.ended_at), limit))

    def expired_pins(self, now: int, limit: int) -> list[str]:
        return list(islice((key for key, (_served, until) in self.pins.items() if until <= now), limit))

    def silent_services(self, since: int) -> list[str]:
        return [name for name, at in self.beats.items() if at <= since and self.alive.get(name)]

    def is_awaited(self, host: str) -> bool:
        return host in self.awaited

    def awaits_any(self) -> bool:
        return bool(self.awaited)

    def await_hosts(self) -> None:
        hosts = [host for host, epoch in self.opened.items() if epoch > 0]
        self.awaited |= dict.fromkeys([*hosts, *(host for host in self.reports if self.alive.get(host))], True)

    def reset_generations(self) -> None:
        self.generations.clear()

    def await_host(self, host: str) -> None:
        self.awaited[host] = True

    def stop_awaiting(self, host: str) -> None:
        self.awaited.pop(host, None)

    def page_of_names(self, namespace: str, marker: str | None, limit: int) -> tuple[list[str], str | None]:
        built_in = {namespaces.COMPUTE: self.providers, namespaces.SERVICE: self.services}
        return paging.cut(built_in[namespace] if namespace in built_in else self.documents(namespace), marker, limit)

    def record(self, request_id: str, document: Mapping[str, Any], most: int) -> None:
        self._decision += 1
        project = project_of(document)
        size = record_bytes(request_id, project, documents.encode(document))
        self._decisions[self._decision] = (request_id, dict(document), size)
        self._decision_bytes += size
        self._decided[request_id] = self._decided[request_id, project] = self._decision
        while self._decision_bytes > most:
            number, (former, dropped, size) = self._decisions.popitem(last=False)
            self._decision_bytes -= size
            for key in (former, (former, project_of(dropped))):
                if self._decided[key] == number:
                    del self._decided[key]

    def decision_of(self, request_id: str, project: str | None = None) -> dict[str, Any] | None:
        number = self._decided.get(request_id if project is None else (request_id, project))
        return None if number is None else self._decisions[number][1]

    def decisions_after(self, number: int, limit: int) -> Sequence[tuple[int, str, dict[str, Any]]]:
        later = ((at, request, document) for at, (request, document, _size) in self._decisions.items() if at > number)
        return list(islice(later, limit))

    def whole(self, mapping: str) -> Mapping[str, Any]:
        whole: Mapping[str, Any] = getattr(self, mapping)
        return whole

    def claim_locations(self) -> Collection[tuple[str, str]]:
        return {(claim.host, claim.consumer) for claim in self.claims.values()}

    def documents(self, namespace: str) -> Mapping[str, Mapping[str, Any]]:
        head = namespaces.entry_of(namespace, "")
        own = ((entry, document) for entry, (_version, document) in self.states.items() if entry.startswith(head))
        return {entry.removeprefix(head): document for entry, document in own}
