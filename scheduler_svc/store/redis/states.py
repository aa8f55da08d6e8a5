# SPDX-License-Identifier: Apache-2.0
"""Host state verbs on Redis.

Reports are compared with stored documents in Python. A script then writes the changes, unless the host's last report
or the API's share of its trees changed in between.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rpcapi import errors
from scheduler_svc.core.namespaces import compute_node
from scheduler_svc.store import aggregates, codecs, documents, namespaces, paging, registrations, reports, verbs
from scheduler_svc.store.providers.changes import Refusal, RefusalKind
from scheduler_svc.store.providers.reported import ApiProviders
from scheduler_svc.store.records import MAX_CLOCK_OFFSET_MS, SCHEMA, HostReport, StatsOutcome
from scheduler_svc.store.redis import clock
from scheduler_svc.store.redis.connect import RedisConnection
from scheduler_svc.store.redis.keys import state_word
from scheduler_svc.store.redis.partition import RACES, RedisPartition, run
from scheduler_svc.store.registrations import AppliedReport

_MODES = {
    reports.ReportHandling.APPLY: "apply",
    reports.ReportHandling.REGISTER: "register",
    reports.ReportHandling.NEED_FULL: "beat",
}


def update_stats(connection: RedisConnection, host: str, report: HostReport) -> StatsOutcome:
    for _ in range(RACES):
        outcome = _try_report(connection, host, report)
        if outcome is not None:
            return outcome
    raise errors.StoreUnavailable(why=f"too many concurrent reports of {host!r}; retry")


def _try_report(connection: RedisConnection, host: str, report: HostReport) -> StatsOutcome | None:
    raw, stored, current, api_changed, conflicts = _last_report(connection, host, list(report.nodes))
    if report.proof is not None and report.proof > current:
        begin_epoch_if_behind(connection, *report.proof)
        return None
    last = None if raw is None else codecs.REPORT.decode(raw)
    handling = reports.report_handling(last, report)
    mode, plan = _MODES.get(handling, "look"), reports.ReportPlan((), (), (), ())
    if mode in ("apply", "register"):
        api = ApiProviders(conflicts)
        if api_changed is not None and report.full:
            api = _read_share(connection, list(report.nodes), last.nodes if last else (), conflicts)
        plan = reports.plan(host, last, report, stored, api)
    links = _link_rows(plan.linked, plan.unlinked)
    answer = connection.run(
        "report",
        (*_document_rows(plan), *links, *plan.stale_roots),
        host=host,
        mode=mode,
        service=documents.encode(reports.new_service(reports.COMPUTE)),
        read_report=raw or "",
        report=_new_record(last, report, plan.nodes),
        beats_decide=connection.beats_decide,
        host_uuid=report.host_uuid,
        served=int(report.served),
        refusal=report.refusal,
        returning=int(registrations.is_return(last, report)),
        returned_ms="" if last is None or last.returned_ms is None else last.returned_ms,
        quiet_ms=registrations.DUPLICATE_QUIET_MS,
        api_changed=api_changed or "",
        changes=len(plan.changes) + len(plan.removed_nodes),
        links=len(plan.linked) + len(plan.unlinked),
    )
    if len(answer) == 3:
        obstacle, owner_uuid, claims = answer
        raise registrations.foreign(host, registrations.TakeoverObstacle(obstacle), owner_uuid or None, claims)
    done, epoch, position, audited, registered = answer
    if not done:
        return None
    connection.identity.observe(epoch, position)
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
    connection: RedisConnection, host: str, nodes: list[str]
) -> tuple[str | None, dict[str, Any], tuple[int, int], str | None, list[str]]:
    """Return (last report's text, {node: document}, (epoch, position), position of API changes, name conflicts)."""
    raw, meta, api_changed, *fields = connection.read(
        ("HGET", "reports", host),
        ("HMGET", "meta", "epoch", "position"),
        ("HGET", "api_changed", host),
        *(("HMGET", word, *nodes) for word in ("providers", "provider_names") if nodes),
    )
    texts, holders = fields or ((), ())
    stored = {name: documents.decode(text, "provider") for name, text in zip(nodes, texts, strict=True) if text}
    conflicts = [name for name, holder in zip(nodes, holders, strict=True) if holder is not None]
    return raw, stored, _place(meta), api_changed, conflicts


def beat(connection: RedisConnection, name: str, binary: str) -> None:
    document = documents.encode(reports.new_service(binary))
    connection.run("beat", name=name, document=document, beats_decide=connection.beats_decide)


def begin_epoch_if_behind(connection: RedisConnection, epoch: int, position: int) -> tuple[int, int]:
    command = ("HMGET", "meta", "epoch", "position")
    recorded = _place(connection.read(command)[0])
    if recorded < (epoch, position):
        connection.identity.observe(epoch, position)
        connection.check_identity()
        recorded = _place(connection.read(command)[0])
    return recorded


def _place(meta: Sequence[str | None]) -> tuple[int, int]:
    epoch, position = (int(value or 0) for value in meta)
    return epoch, position


def settle_alive(connection: RedisConnection, living: Collection[str]) -> int:
    return int(connection.run("alive", names=documents.encode(sorted(living))))


def note_clock(connection: RedisConnection, name: str, sent_ms: int) -> None:
    connection.run("note_clock", name=name, sent_ms=sent_ms, least_ms=MAX_CLOCK_OFFSET_MS)


def read_generations(connection: RedisConnection, ids: Sequence[str]) -> dict[str, int]:
    if not ids:
        return {}
    base, increments = connection.read(("HGET", "meta", "generation_base"), ("HMGET", "generations", *ids))
    return {provider: int(base or 0) + int(number or 0) for provider, number in zip(ids, increments, strict=True)}


def get_state(connection: RedisConnection, namespace: str, name: str) -> namespaces.Versioned:
    rows = _read_states(connection, namespace, [name])
    if not rows:
        raise errors.UnknownHost(name=name)
    _name, version, document = rows[0]
    return version, document


def list_state(
    connection: RedisConnection, namespace: str, marker: str | None, limit: int
) -> paging.Page[namespaces.StateRow]:
    (names,) = connection.read(("HKEYS", _word(namespace)))
    page, following = paging.cut(names, marker, limit)
    return _read_states(connection, namespace, page), following


def put_state(
    connection: RedisConnection, namespace: str, name: str, version: int, *, document: Mapping[str, Any]
) -> int:
    if namespace == namespaces.SERVICE:
        return run(connection, verbs.states.put_state, namespace, name, version, document=document)
    return _write_state(connection, namespace, name, version, document)


def retire(connection: RedisConnection, namespace: str, name: str, as_of: int) -> Refusal | None:
    vocabulary = connection.run("retire", namespace=namespace, name=name, as_of=as_of)
    return Refusal(RefusalKind.BEHIND, name, (), as_of, vocabulary) if vocabulary else None


def delete_state(connection: RedisConnection, namespace: str, name: str, version: int) -> None:
    _write_state(connection, namespace, name, version, None)


def _write_state(
    connection: RedisConnection, namespace: str, name: str, version: int, document: Mapping[str, Any] | None
) -> int:
    """Replace a document, or delete it (None). A changed aggregate makes earlier decisions on its hosts stale."""
    stale: Collection[str] = ()
    if namespace == aggregates.NAMESPACE:
        rows = _read_states(connection, namespace, [name])
        # This read may be out of date, but the script writes only if the version still matches.
        before = next((stored for _name, recorded, stored in rows if recorded == version), None)
        stale = aggregates.touched(before, document)
    text = "" if document is None else documents.encode(document)
    built = reports.built_in(document) if namespace == compute_node.NAMESPACE else ""
    done, recorded = connection.run(
        "state", stale, namespace=namespace, name=name, version=version, document=text, built=built
    )
    if not done:
        raise namespaces.conflict(namespace, name, recorded, version)
    return int(recorded)


def _word(namespace: str) -> str:
    return {namespaces.COMPUTE: "providers", namespaces.SERVICE: "services"}.get(namespace, state_word(namespace))


def _read_states(connection: RedisConnection, namespace: str, names: Sequence[str]) -> list[namespaces.StateRow]:
    if not names:
        return []
    readers = {namespaces.COMPUTE: _read_compute, namespaces.SERVICE: _read_service}
    if namespace in readers:
        return readers[namespace](connection, names)
    (texts,) = connection.read(("HMGET", state_word(namespace), *names))
    return [(name, *documents.decode_state(text)) for name, text in zip(names, texts, strict=True) if text]


def _read_compute(connection: RedisConnection, names: Sequence[str]) -> list[namespaces.StateRow]:
    documents_, used = connection.read(("HMGET", "providers", *names), ("HMGET", "used", *names))
    return [
        (name, *namespaces.compute(documents.decode(text, "provider"), json.loads(sums or "{}")))
        for name, text, sums in zip(names, documents_, used, strict=True)
        if text
    ]


def _read_service(connection: RedisConnection, names: Sequence[str]) -> list[namespaces.StateRow]:
    (epoch, *time), texts, alive, opened, offsets, *beats = connection.read(
        ("HMGET", "meta", "epoch", *clock.FIELDS),
        *(("HMGET", word, *names) for word in ("services", "alive", "opened", "clock_offsets")),
        *(("ZSCORE", "beats", name) for name in names),
    )
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


def _new_record(last: AppliedReport | None, report: HostReport, nodes: tuple[str, ...]) -> str:
    if last is not None and not report.register:
        return str(codecs.REPORT.encode(replace(last, sequence=report.sequence, nodes=nodes)))
    return documents.encode({"schema": SCHEMA, "sequence": report.sequence, "agent": report.agent, "nodes": nodes})


def _document_rows(plan: reports.ReportPlan) -> Iterator[str | int]:
    for change in plan.changes:
        capacity = documents.encode(reports.capacity_of(change.document)) if change.inventory else ""
        yield from (
            change.document["id"],
            documents.encode(change.document),
            capacity,
            reports.built_in(change.document),
        )
    for name in plan.removed_nodes:
        yield from (name, "", "", 0)


def _link_rows(linked: Mapping[str, str], unlinked: Mapping[str, str]) -> list[str]:
    """Return the flat list of (parent, child, "1" to add or "0" to remove) that report.lua takes."""
    values: list[str] = []
    for entries, added in ((unlinked, "0"), (linked, "1")):
        for child, parent in entries.items():
            values += [parent, child, added]
    return values


def _read_share(
    connection: RedisConnection, nodes: Sequence[str], last_nodes: Sequence[str], conflicts: Sequence[str]
) -> ApiProviders:
    partition = RedisPartition(connection)
    level, below, dropped = list(dict.fromkeys([*nodes, *last_nodes])), [], last_nodes
    while level:
        partition.prefetch(providers=level)
        level = [child for name in level for child in partition.children.get(name, ())]
        below += level
    documents_of = [
        {name: partition.providers[name] for name in ids if name not in nodes and name in partition.providers}
        for ids in (below, dropped)
    ]
    return ApiProviders(conflicts, *documents_of)
