# SPDX-License-Identifier: Apache-2.0
"""The namespaces of host state that the store composes, and how their documents look to a reader."""

from collections.abc import Collection, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.store import aggregates, validation

COMPUTE = "compute"  # one document a node, written by its host's reports only
SERVICE = "service"  # one document a service
BUILT_IN = (COMPUTE, SERVICE)

Versioned = tuple[int, dict[str, Any]]


def check(namespace: str, declared: Collection[str]) -> None:
    """Raise UnknownNamespace unless the namespace is built in or ``declared``."""
    if namespace not in BUILT_IN and namespace not in declared:
        raise errors.UnknownNamespace(namespace=namespace, known=", ".join((*BUILT_IN, *sorted(declared))))


def check_document(namespace: str, document: Mapping[str, Any]) -> None:
    """Raise InvalidRequest unless this may be put into the namespace, which is known."""
    if namespace == COMPUTE:
        raise validation.refuse(f"namespace {namespace!r} changes by its hosts' reports only")
    is_aggregate = namespace == aggregates.NAMESPACE
    validation.check_state(document, validation.MAX_AGGREGATE if is_aggregate else validation.MAX_STATE)
    if namespace == SERVICE:
        _check_service(document)


def check_deletable(namespace: str) -> None:
    """Raise InvalidRequest for a namespace whose documents go with their hosts."""
    if namespace in BUILT_IN:
        raise validation.refuse(f"documents in namespace {namespace!r} go with their host; remove the host")


def _check_service(changes: Mapping[str, Any]) -> None:
    unknown = sorted(changes.keys() - {"enabled", "disabled_reason"})
    if unknown:
        raise validation.refuse(f"a service's {', '.join(unknown)} cannot be set; enabled and disabled_reason can")
    if not isinstance(changes.get("enabled", True), bool):
        raise validation.refuse(f"enabled must be true or false, not {changes['enabled']!r}")
    reason = changes.get("disabled_reason")
    if reason is not None and not (isinstance(reason, str) and len(reason) <= names.MAX_LENGTH):
        raise validation.refuse(f"disabled_reason must be a text of at most {names.MAX_LENGTH} characters, or null")


def merge(name: str, stored: Mapping[str, Any], version: int, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with ``changes`` and the next version, or as it is where it says all that already.

    Raises VersionConflict where it has changed since ``version``; a repeated update finds its own work done.
    """
    if all(stored[key] == value for key, value in changes.items()):
        return dict(stored)
    if stored["version"] != version:
        raise conflict(SERVICE, name, stored["version"], version)
    return {**stored, **changes, "version": version + 1}


def conflict(namespace: str, name: str, recorded: int, expected: int) -> errors.VersionConflict:
    """Return the refusal of a write that was made for another version than the recorded one."""
    return errors.VersionConflict(what=f"{namespace} {name!r}", version=recorded, expected=expected)


def compute(document: Mapping[str, Any], used: Mapping[str, int]) -> Versioned:
    """Return (version, document) of a node as readers see it."""
    version, shown = _open(document)
    return version, shown | {"used": dict(used)}


def service(document: Mapping[str, Any], *, alive: bool, audited: bool, last_report_ms: int | None) -> Versioned:
    """Return (version, document) of a service as readers see it."""
    version, shown = _open(document)
    return version, shown | {"alive": alive, "audited": audited, "last_report_ms": last_report_ms}


def _open(document: Mapping[str, Any]) -> Versioned:
    shown = {key: value for key, value in document.items() if key not in ("schema", "version")}
    return document["version"], shown
