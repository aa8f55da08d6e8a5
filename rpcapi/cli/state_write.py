# SPDX-License-Identifier: Apache-2.0
"""Writes host state with retries against concurrent writers of the same document."""

from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

WRITER = "gantt"  # the operators' writer name, declared for services and aggregates
ATTEMPTS = 5


def update_document(
    session: "Session", namespace: str, name: str, document: dict[str, Any], *, writer: str = WRITER, make: bool = False
) -> Any:
    """Merge ``document`` into the stored document at its present version, and return the new state.

    Retries after a concurrent change. With ``make``, creates a missing document; otherwise raises UnknownHost.
    """
    for _ in range(ATTEMPTS):
        version = get_version(session, namespace, name, make)
        try:
            return write_document(session, namespace, name, version, document, writer=writer)
        except errors.VersionConflict as error:
            conflict = error
    raise conflict


def write_document(
    session: "Session", namespace: str, name: str, version: int, document: dict[str, Any], *, writer: str = WRITER
) -> Any:
    """Merge ``document`` into version ``version`` of the stored one; raises VersionConflict if it has another one."""
    from rpcapi import objects  # noqa: PLC0415 - lazy: brings the versioned objects

    state = objects.HostState.of(namespace=namespace, name=name, version=version, document=document)
    return session.call(session.scheduler.update_host_state, state, writer=writer)


def get_version(session: "Session", namespace: str, name: str, missing_ok: bool = True) -> int:
    """Return the version of a document, or 0 if it is missing and ``missing_ok``; else raises UnknownHost."""
    try:
        return int(session.call(session.scheduler.get_host_state, namespace, name).version)
    except errors.UnknownHost:
        if not missing_ok:
            raise
        return 0
