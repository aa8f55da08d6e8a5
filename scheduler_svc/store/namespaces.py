# SPDX-License-Identifier: Apache-2.0
"""Host state namespaces: rules for writes, and the form in which readers get documents."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.version import is_too_old
from scheduler_svc.store import aggregates, validation
from scheduler_svc.store.registrations import DUPLICATE

COMPUTE = "compute"  # documents of nodes, written only by host reports
SERVICE = "service"  # documents of services
SERVER_GROUP = "server_group"
BUILT_IN = (COMPUTE, SERVICE)
# Service fields: {topic: RPC version} of the oldest process with the service's name, and its last report in ms while
# newer processes share the name.
RPC_VERSIONS, OLDER_SEEN_MS = "rpc_versions", "older_seen_ms"
TOO_OLD = "too_old"  # field added for readers if the service's RPC versions are no longer supported
_REMOVABLE = (DUPLICATE, OLDER_SEEN_MS)

Versioned = tuple[int, dict[str, Any]]
StateRow = tuple[str, int, dict[str, Any]]  # name, version, document


def entry_of(namespace: str, name: str) -> str:
    return f"{namespace}|{name}"


def check(namespace: str, declared: Collection[str]) -> None:
    if namespace not in BUILT_IN and namespace not in declared:
        raise errors.UnknownNamespace(namespace=namespace, choices=", ".join((*BUILT_IN, *sorted(declared))))


def check_document(namespace: str, document: Mapping[str, Any]) -> None:
    if namespace == COMPUTE:
        raise validation.refuse(f"namespace {namespace!r} can be changed only by host reports")
    is_aggregate = namespace == aggregates.NAMESPACE
    validation.check_state(document, validation.MAX_AGGREGATE if is_aggregate else validation.MAX_STATE)
    if namespace == SERVICE:
        _check_service(document)


def check_deletable(namespace: str) -> None:
    """Raise InvalidRequest for built-in namespaces, whose documents are removed with their hosts."""
    if namespace in BUILT_IN:
        raise validation.refuse(f"documents in namespace {namespace!r} cannot be deleted; remove the host instead")


def _check_service(changes: Mapping[str, Any]) -> None:
    unknown = sorted(changes.keys() - {"enabled", "disabled_reason", DUPLICATE, RPC_VERSIONS, OLDER_SEEN_MS})
    if unknown:
        raise validation.refuse(
            f"cannot set {', '.join(unknown)} of a service; only enabled and disabled_reason can be set"
        )
    if changes.get(DUPLICATE) is not None:
        raise validation.refuse(f"{DUPLICATE} can only be cleared, with null")
    if not isinstance(changes.get("enabled", True), bool):
        raise validation.refuse(f"enabled must be true or false, got {changes['enabled']!r}")
    reason = changes.get("disabled_reason")
    if reason is not None and not (isinstance(reason, str) and len(reason) <= names.MAX_LENGTH):
        raise validation.refuse(f"disabled_reason must be a string of at most {names.MAX_LENGTH} characters, or null")


def merge(name: str, stored: Mapping[str, Any], version: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a service document with ``changes`` and the next version; unchanged if it already has them.

    Raises VersionConflict if the stored version is not ``version``.
    """
    if all(stored.get(key) == value for key, value in changes.items()):
        return dict(stored)
    if stored["version"] != version:
        raise conflict(SERVICE, name, stored["version"], version)
    merged = {**stored, **changes, "version": version + 1}
    return {key: value for key, value in merged.items() if key not in _REMOVABLE or value is not None}


def conflict(namespace: str, name: str, recorded: int, expected: int) -> errors.VersionConflict:
    return errors.VersionConflict(what=f"{namespace} {name!r}", version=recorded, expected=expected)


def compute(document: Mapping[str, Any], used: Mapping[str, int]) -> Versioned:
    """Return (version, document) of a node as readers see it."""
    version, shown = _open(document)
    return version, shown | {"used": dict(used)}


def service(
    document: Mapping[str, Any],
    *,
    alive: bool,
    audited: bool,
    last_report_ms: int | None,
    clock_offset_ms: int | None,
) -> Versioned:
    """Return (version, document) of a service as readers see it."""
    version, shown = _open(document)
    figures: dict[str, Any] = {"last_report_ms": last_report_ms, "clock_offset_ms": clock_offset_ms}
    if is_too_old(document.get(RPC_VERSIONS)):
        figures[TOO_OLD] = True
    return version, shown | {"alive": alive, "audited": audited, **figures}


def shown_offset(noted: Sequence[int] | None, beat: int | None) -> int | None:
    """Return the noted clock offset in ms, or None if a heartbeat followed. ``noted`` is (offset, time of the note)."""
    return noted[0] if noted is not None and (beat is None or noted[1] >= beat) else None


def _open(document: Mapping[str, Any]) -> Versioned:
    shown = {key: value for key, value in document.items() if key not in ("schema", "version")}
    return document["version"], shown
