# SPDX-License-Identifier: Apache-2.0
"""Writing host state against others who write the same document at the same time."""

from typing import TYPE_CHECKING, Any

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.shell.session import Session

WRITER = "gantt"  # the operators' name: the declared writer of services and aggregates
ATTEMPTS = 5


def write(
    session: "Session", namespace: str, name: str, document: dict[str, Any], *, writer: str = WRITER, make: bool = False
) -> Any:
    """Merge ``document`` into what is recorded at the version that is read, and return the new state.

    Somebody else's change means: read again. ``make`` makes a document where there is none; else UnknownHost.
    """
    from rpcapi import objects  # noqa: PLC0415 - lazy: brings the versioned objects

    for _ in range(ATTEMPTS):
        version = version_of(session, namespace, name, make)
        state = objects.HostState.of(namespace=namespace, name=name, version=version, document=document)
        try:
            return session.ask(session.scheduler.update_host_state, state, writer=writer)
        except errors.VersionConflict as error:
            conflict = error
    raise conflict


def version_of(session: "Session", namespace: str, name: str, missing_ok: bool = True) -> int:
    """Return the version of a document, 0 where there is none; then UnknownHost unless that is fine."""
    try:
        return session.ask(session.scheduler.get_host_state, namespace, name).version
    except errors.UnknownHost:
        if not missing_ok:
            raise
        return 0
