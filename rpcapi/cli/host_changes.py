# SPDX-License-Identifier: Apache-2.0
"""Changes of one service host by an operator, for the commands and the dashboard."""

import uuid
from typing import TYPE_CHECKING

from rpcapi.cli.state_write import update_document

if TYPE_CHECKING:
    from rpcapi.cli.session import Session


def set_enabled(session: "Session", host: str, *, enabled: bool, reason: str | None = None) -> None:
    """Let new servers be placed on a host, or not; overrides a concurrent change of it.

    Enabling it ends its being shown as a duplicate identity.
    """
    changes = {"enabled": enabled, "disabled_reason": reason} | ({"duplicate_ms": None} if enabled else {})
    update_document(session, "service", host, changes)


def fence(session: "Session", host: str, *, force: bool = False, replace: bool = False) -> int:
    """End all claims of a host that runs nothing any more; return their number. Raises UnknownHost, HostIsUp.

    ``replace``: the machine is gone for good, and another machine may take over the name.
    """
    service = session.call(session.scheduler.get_host_state, "service", host)
    # One token for this call: when it is repeated without a reply, it ends no claims made since.
    token = uuid.uuid4().hex
    return int(session.call(session.claims_of(service.partition).fence_host, host, token, force=force, replace=replace))


def is_known_empty(session: "Session", host: str) -> bool:
    """Return whether a host has audited in this epoch and has no claims; raises UnknownHost."""
    service = session.call(session.scheduler.get_host_state, "service", host)
    if not service.document.get("audited"):
        return False
    return not session.call(session.claims_of(service.partition).list_claims, host=host, limit=1).claims
