# SPDX-License-Identifier: Apache-2.0
"""Writes of host state, with retries after concurrent writes of the same document."""

from typing import Any

from rpcapi import errors
from rpcapi.admin import Session

WRITER = "gantt"  # writer name of operators, declared for services and aggregates
ATTEMPTS = 5


def update_document(
    session: Session, namespace: str, name: str, document: dict[str, Any], *, writer: str = WRITER, make: bool = False
) -> Any:
    """Merge ``document`` into the stored document and return the new state; retries after a concurrent change.

    Raises UnknownHost for a missing document unless ``make`` creates it.
    """
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
    """Return the version of a document; 0 if it is missing and ``missing_ok``, otherwise raises UnknownHost."""
    try:
        return int(session.get_state(namespace, name).version)
    except errors.UnknownHost:
        if not missing_ok:
            raise
        return 0
