# SPDX-License-Identifier: Apache-2.0
"""Host state in Redis: reports are compared here, and written by a script that fails if another came between."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi import errors
from scheduler_svc.store import documents, namespaces, paging, registrations, reports
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers.reported import ApiProviders
from scheduler_svc.store.records import MAX_CLOCK_OFFSET_MS, SCHEMA, HostReport, StatsOutcome
from scheduler_svc.store.redis import clock, providers
from scheduler_svc.store.redis.connect import RedisConnection, place
from scheduler_svc.store.redis.keys import state_key
from scheduler_svc.store.registrations import AppliedReport

_MODES = {
    reports.ReportHandling.APPLY: "apply",
    reports.ReportHandling.REGISTER: "register",
    reports.ReportHandling.NEED_FULL: "beat",
}
RACES = 50  # attempts to write a report or a service's document that concurrent updates disturb: clients of the
# Placement API may change providers in the trees of one host many times in a row


class RedisHostStates(Store):
    """The verbs on host state."""

    _connection: RedisConnection
    _beats_decide: int  # 1 if a heartbeat marks a service alive, or else 0
    _head: str  # of the partition's keys

    def _update_stats(self, host: str, report: HostReport) -> StatsOutcome:
        for _ in range(RACES):
            outcome = self._try_report(host, report)
            if outcome is not None:
                return outcome
        raise errors.StoreUnavailable(why=f"too many concurrent reports of {host!r}; retry")

    def _try_report(self, host: str, report: HostReport) -> StatsOutcome | None:
        raw, node_names, stored, current, api_changed, conflicts = self._last_report(host, list(report.nodes))
        if report.proof is not None and report.proof > current:
            self.begin_epoch_if_behind(*report.proof)
            return None
        last = _applied(raw, node_names)
        handling = reports.report_handling(last, report)
        mode, plan = _MODES.get(handling, "look"), reports.ReportPlan((), (), (), ())
        if mode in ("apply", "register"):
            api = ApiProviders(conflicts)
            if api_changed is not None and report.full:
                api = providers.read_share(self._connection, list(report.nodes), last.nodes if last else (), conflicts)
            plan = reports.plan(host, last, report, stored, api)
        links = providers.link_arguments(plan.linked, plan.unlinked)
        answer = self._connection.run(
            "report",
            (*_change_arguments(plan.changes), *links, *plan.stale_roots, *plan.removed_nodes),
            host=host,
            mode=mode,
            service=documents.encode(reports.new_service(reports.COMPUTE)),
            read_report=raw or "",
            report=_new_record(last, report),
            nodes=documents.encode(plan.nodes),
            beats_decide=self._beats_decide,
            host_uuid=report.host_uuid,
            served=int(report.served),
            refusal=report.refusal,
            returning=int(registrations.is_return(last, report)),
            returned_ms="" if last is None or last.returned_ms is None else last.returned_ms,
            quiet_ms=registrations.DUPLICATE_QUIET_MS,
            api_changed=api_changed or "",
            changes=len(plan.changes),
            links=len(plan.linked) + len(plan.unlinked),
            stale=len(plan.stale_roots),
        )
        if len(answer) == 3:
            obstacle, owner_uuid, claims = answer
            raise registrations.foreign(host, registrations.TakeoverObstacle(obstacle), owner_uuid or None, claims)
        done, epoch, position, audited, registered = answer
        if not done:
            return None
        self._connection.identity.observe(epoch, position)
        superseded = handling is reports.ReportHandling.SUPERSEDED
        incarnation = last.incarnation if last is not None and not superseded else 0
        return StatsOutcome(
            handling is reports.ReportHandling.NEED_FULL,
            epoch,
            not audited,
            position,
            incarnation=registrations.incarnation(epoch, registered) if registered else incarnation,
            superseded=superseded,
        )

    def _last_report(
        self, host: str, nodes: list[str]
    ) -> tuple[str | None, str | None, dict[str, Any], tuple[int, int], str | None, list[str]]:
        """Return the record of the last report, the host's nodes, the documents of ``nodes``, and (epoch, position).

        Also the position of the Placement API's last change in the host's trees, and those of ``nodes`` whose name a
        provider of the API has.
        """

        def fill(pipe: Any) -> None:
            pipe.hget(self._head + "reports", host)
            pipe.hget(self._head + "nodes", host)
            pipe.hmget(self._head + "meta", "epoch", "position")
            pipe.hget(self._head + "api_changed", host)
            if nodes:
                pipe.hmget(self._head + "providers", nodes)
                pipe.hmget(self._head + "provider_names", nodes)

        raw, node_names, meta, api_changed, *fields = self._connection.read(fill)
        texts, holders = fields or ((), ())
        stored = {name: documents.decode(text, "provider") for name, text in zip(nodes, texts, strict=True) if text}
        conflicts = [name for name, holder in zip(nodes, holders, strict=True) if holder is not None]
        return raw, node_names, stored, place(meta), api_changed, conflicts

    def _heartbeat(self, name: str, binary: str) -> None:
        document = documents.encode(reports.new_service(binary))
        self._connection.run("beat", name=name, document=document, beats_decide=self._beats_decide)

    def settle_alive(self, living: Collection[str]) -> int:
        return self._connection.run("alive", names=documents.encode(sorted(living)))

    def _note_clock(self, name: str, sent_ms: int) -> None:
        self._connection.run("note_clock", name=name, sent_ms=sent_ms, least_ms=MAX_CLOCK_OFFSET_MS)

    def _remove(self, host: str, is_lost: bool) -> None:
        count = self._connection.run("remove", host=host, lost=int(is_lost))
        if count < 0:
            why = {-1: reports.AWAITED, -2: reports.SHARED, -3: reports.AWAITED_AND_UP, -4: reports.API_CHILDREN}[count]
            raise errors.Conflict(what=f"Removing host {host!r}", why=why)
        if count:
            raise errors.HostInUse(host=host, claims=count, partition=self.partition)

    def _get_state(self, namespace: str, name: str) -> namespaces.Versioned:
        rows = self._read_states(namespace, [name])
        if not rows:
            raise errors.UnknownHost(name=name)
        _name, version, document = rows[0]
        return version, document

    def _list_state(
        self, namespace: str, marker: str | None, limit: int
    ) -> tuple[list[tuple[str, int, dict[str, Any]]], str | None]:
        key = self._states_key(namespace)
        names = self._connection.read(lambda pipe: pipe.hkeys(key))[0]
        page, following = paging.cut(names, marker, limit)
        return self._read_states(namespace, page), following

    def _put_state(self, namespace: str, name: str, version: int, document: Mapping[str, Any]) -> int:
        if namespace == namespaces.SERVICE:
            return self._put_service(name, version, document)
        return self._write_state(namespace, name, version, documents.encode(document))

    def _delete_state(self, namespace: str, name: str, version: int) -> None:
        self._write_state(namespace, name, version, "")

    def _write_state(self, namespace: str, name: str, version: int, text: str) -> int:
        done, recorded = self._connection.run("state", namespace=namespace, name=name, version=version, document=text)
        if not done:
            raise namespaces.conflict(namespace, name, recorded, version)
        return recorded

    def _put_service(self, name: str, version: int, changes: Mapping[str, Any]) -> int:
        for _ in range(RACES):
            raw = self._connection.read(lambda pipe: pipe.hget(self._head + "services", name))[0]
            if raw is None:
                raise errors.UnknownHost(name=name)
            stored = documents.decode(raw, "service")
            merged = namespaces.merge(name, stored, version, changes)
            if merged == stored or self._connection.run(
                "service", name=name, read_document=raw, document=documents.encode(merged)
            ):
                return merged["version"]
        raise errors.StoreUnavailable(why=f"too many concurrent updates of service {name!r}; retry")

    def _states_key(self, namespace: str) -> str:
        built_in = {namespaces.COMPUTE: "providers", namespaces.SERVICE: "services"}
        if namespace in built_in:
            return self._head + built_in[namespace]
        return state_key(self.partition, namespace)

    def _read_states(self, namespace: str, names: Sequence[str]) -> list[tuple[str, int, dict[str, Any]]]:
        if not names:
            return []
        readers = {namespaces.COMPUTE: self._read_compute, namespaces.SERVICE: self._read_service}
        if namespace in readers:
            return readers[namespace](names)
        key = self._states_key(namespace)
        texts = self._connection.read(lambda pipe: pipe.hmget(key, names))[0]
        return [(name, *documents.decode_state(text)) for name, text in zip(names, texts, strict=True) if text]

    def _read_compute(self, names: Sequence[str]) -> list[tuple[str, int, dict[str, Any]]]:
        def fill(pipe: Any) -> None:
            pipe.hmget(self._head + "providers", names)
            pipe.hmget(self._head + "used", names)

        documents_, used = self._connection.read(fill)
        return [
            (name, *namespaces.compute(documents.decode(text, "provider"), json.loads(sums or "{}")))
            for name, text, sums in zip(names, documents_, used, strict=True)
            if text
        ]

    def _read_service(self, names: Sequence[str]) -> list[tuple[str, int, dict[str, Any]]]:
        def fill(pipe: Any) -> None:
            pipe.hmget(self._head + "meta", "epoch", *clock.FIELDS)
            for word in ("services", "alive", "opened", "clock_offsets"):
                pipe.hmget(self._head + word, names)
            for name in names:
                pipe.zscore(self._head + "beats", name)

        (epoch, *time), texts, alive, opened, offsets, *beats = self._connection.read(fill)
        lead = clock.lead(*time)
        rows = []
        for name, text, is_alive, audited, offset, beat_text in zip(
            names, texts, alive, opened, offsets, beats, strict=True
        ):
            if text is not None:
                beat = None if beat_text is None else int(beat_text)
                noted = None if offset is None else [int(number) for number in offset.split()]
                shown = namespaces.service(
                    documents.decode(text, "service"),
                    alive=is_alive == "1",
                    audited=audited is not None and audited == epoch,
                    last_report_ms=None if beat is None else beat + lead,
                    clock_offset_ms=namespaces.shown_offset(noted, beat),
                )
                rows.append((name, *shown))
        return rows


def _applied(raw: str | None, node_names: str | None) -> AppliedReport | None:
    if raw is None:
        return None
    report = documents.decode(raw, "report")
    number = registrations.incarnation(*report["issued"])  # Lua's numbers are too short for an incarnation
    nodes = tuple(json.loads(node_names or "[]"))
    return AppliedReport(number, report["sequence"], nodes, report["agent"], report.get("returned_ms"))


def _new_record(last: AppliedReport | None, report: HostReport) -> str:
    """Return the record of a report; for one that registers, the script adds what it issues."""
    record: dict[str, Any] = {"schema": SCHEMA, "sequence": report.sequence, "agent": report.agent}
    if last is not None and not report.register:
        returned = {} if last.returned_ms is None else {"returned_ms": last.returned_ms}
        record |= {"agent": last.agent, "issued": registrations.issued(last.incarnation), **returned}
    return documents.encode(record)


def _change_arguments(changes: Sequence[reports.NodeChange]) -> list[Any]:
    values: list[Any] = []
    for change in changes:
        capacity = documents.encode(reports.capacity_of(change.document)) if change.inventory else ""
        values += [change.document["id"], documents.encode(change.document), capacity]
    return values
