# SPDX-License-Identifier: Apache-2.0
"""RPC versions that services report, stored in their documents of namespace ``service``."""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.clients.served_versions import SERVED
from rpcapi.version import is_too_old, parse_rpc_version
from scheduler_svc.store.namespaces import OLDER_SEEN_MS, RPC_VERSIONS, SERVICE
from scheduler_svc.store.protocols.host_state import HostReportStore, HostStateStore
from scheduler_svc.store.reports import service_name

Versions = Mapping[str, str]
MAX_TOPICS = 8
# Silence that proves the end of an older release's process. Must exceed the report interval.
OLDER_ENDED_MS = 60_000
_VERSION = re.compile(r"(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})")


def check_versions(binary: str, versions: Any) -> Versions | None:
    """Return the versions by topic, or None.

    Raises InvalidRequest if one is malformed, an own topic is missing, or there are more than MAX_TOPICS.
    """
    if versions is None or versions == {}:
        return None
    is_valid = (
        isinstance(versions, dict)
        and len(versions) <= MAX_TOPICS
        and all(isinstance(topic, str) and re.fullmatch(r"[a-z]{1,32}", topic) for topic in versions)
        and all(isinstance(version, str) and _VERSION.fullmatch(version) for version in versions.values())
    )
    if not is_valid:
        raise errors.InvalidRequest(
            why=f"versions must map at most {MAX_TOPICS} topics to versions such as '1.0', got {str(versions)[:80]!r}"
        )
    missing = [client.TOPIC for client in SERVED.get(binary, ()) if client.TOPIC not in versions]
    if missing:
        raise errors.InvalidRequest(why=f"versions of {binary} must have topic {', '.join(missing)}")
    return dict(versions)


def merge_report(document: Mapping[str, Any], reported: Versions | None, now_ms: int) -> dict[str, Any]:
    """Return the changes that a process's report makes to its service's document.

    During an upgrade, processes of two releases may report under one name. The older release counts until it has been
    silent for OLDER_ENDED_MS.
    """
    lowest, seen_ms = document.get(RPC_VERSIONS), document.get(OLDER_SEEN_MS)
    if reported == lowest:
        is_due = seen_ms is not None and now_ms - seen_ms > OLDER_ENDED_MS / 4
        return {OLDER_SEEN_MS: now_ms} if is_due else {}
    if _age(reported) < _age(lowest):
        return {RPC_VERSIONS: reported, OLDER_SEEN_MS: now_ms}
    if seen_ms is None:
        return {OLDER_SEEN_MS: now_ms}
    return {RPC_VERSIONS: reported, OLDER_SEEN_MS: None} if now_ms - seen_ms > OLDER_ENDED_MS else {}


def oldest_versions(documents: Iterable[Mapping[str, Any]]) -> dict[str, str | None]:
    """Return the oldest version of each topic among living services.

    The version is None if one of these services reports none. Agents that are too old do not count: they get no new
    servers, and must not cap the messages to others.
    """
    oldest: dict[str, str | None] = {}
    for document in documents:
        if not document["alive"] or is_too_old(document.get(RPC_VERSIONS)):
            continue
        reported = document.get(RPC_VERSIONS) or {}
        for client in SERVED.get(document["binary"], ()):
            topic, version = client.TOPIC, reported.get(client.TOPIC)
            lowest = oldest.setdefault(topic, version)
            if lowest is not None and (version is None or parse_rpc_version(version) < parse_rpc_version(lowest)):
                oldest[topic] = version
    return oldest


def _age(versions: Versions | None) -> list[tuple[str, tuple[int, ...]]]:
    return sorted((topic, parse_rpc_version(version)) for topic, version in (versions or {}).items())


def wall_clock_ms() -> int:
    return round(1000 * time.time())


def report_service(
    store: HostReportStore,
    host: str,
    binary: str,
    reported: Versions | None,
    clock: Callable[[], int] = wall_clock_ms,
) -> str:
    """Record a process's heartbeat and versions (again at the next report after a lost race); return its name."""
    name = service_name(host, binary)
    known_version, _ = store.find_state(SERVICE, name)
    store.heartbeat(host, binary)
    version, document = store.find_state(SERVICE, name)
    if version:
        is_first = reported and not known_version
        changes = {RPC_VERSIONS: reported} if is_first else merge_report(document, reported, clock())
        _put(store, name, version, changes)
    return name


def register_versions(store: HostStateStore, host: str, reported: Versions | None) -> None:
    version, document = store.find_state(SERVICE, host)
    if version and document.get(RPC_VERSIONS) != reported:
        _put(store, host, version, {RPC_VERSIONS: reported})


def _put(store: HostStateStore, name: str, version: int, changes: Mapping[str, Any]) -> None:
    if changes:
        with contextlib.suppress(errors.VersionConflict, errors.UnknownHost):
            store.put_state(SERVICE, name, version, changes)
