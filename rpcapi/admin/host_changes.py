# SPDX-License-Identifier: Apache-2.0
"""Operators' changes of one service host, for the commands and the dashboard."""

import uuid

from rpcapi.admin import Session
from rpcapi.admin.state_write import update_document


def set_enabled(session: Session, host: str, *, enabled: bool, reason: str | None = None) -> None:
    """Enable or disable a host, overriding concurrent changes; enabling clears a duplicate identity's mark."""
    changes = {"enabled": enabled, "disabled_reason": reason} | ({"duplicate_ms": None} if enabled else {})
    update_document(session, "service", host, changes)


def fence(session: Session, host: str, *, force: bool = False, replace: bool = False) -> int:
    """End all claims of a host on which nothing runs; return their number.

    Raises UnknownHost or HostIsUp. ``replace``: another machine may take over the name.
    """
    service = session.get_state("service", host)
    # One token per call: a retry without a reply does not end claims made since.
    token = uuid.uuid4().hex
    return int(session.call(session.claims_of(service.partition).fence_host, host, token, force=force, replace=replace))


def is_known_empty(session: Session, host: str) -> bool:
    """Return whether a host has audited in this epoch and has no claims; raises UnknownHost."""
    service = session.get_state("service", host)
    if not service.document.get("audited"):
        return False
    return not session.call(session.claims_of(service.partition).list_claims, host=host, limit=1).claims
