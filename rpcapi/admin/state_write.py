# SPDX-License-Identifier: Apache-2.0
"""Writes of host state documents, repeated after version conflicts."""

from typing import Any

from rpcapi import errors
from rpcapi.admin import Session

WRITER = "gantt"  # the operators' writer name in the namespaces service and aggregate
ATTEMPTS = 5


def update_document(
    session: Session, namespace: str, name: str, document: dict[str, Any], *, writer: str = WRITER, make: bool = False
) -> Any:
    """Merge keys into a document despite concurrent writes; without ``make``, raises UnknownHost if it is missing."""
    for _ in range(ATTEMPTS):
        version = get_version(session, namespace, name, make)
        try:
            return write_document(session, namespace, name, version, document, writer=writer)
        except errors.VersionConflict as error:
            conflict = error
    raise conflict


def write_document(
    session: Session, namespace: str, name: str, version: int, document: dict[str, Any], *, writer: str = WRITER
) -> Any:
    from rpcapi import objects  # noqa: PLC0415 - lazy: brings the versioned objects

    state = objects.HostState.of(namespace=namespace, name=name, version=version, document=document)
    return session.call(session.scheduler.update_host_state, state, writer=writer)


def get_version(session: Session, namespace: str, name: str, missing_ok: bool = True) -> int:
    """Return the version of a document; if it is missing, return 0 or, without ``missing_ok``, raise UnknownHost."""
    try:
        return int(session.get_state(namespace, name).version)
    except errors.UnknownHost:
        if not missing_ok:
            raise
        return 0
