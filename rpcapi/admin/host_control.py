# SPDX-License-Identifier: Apache-2.0
"""Operators' control of a service host: enable, disable and fence."""

import uuid

from rpcapi.admin import Session
from rpcapi.admin.state_write import update_document


def set_enabled(session: Session, host: str, *, enabled: bool, reason: str | None = None) -> None:
    """Enable or disable a host despite concurrent changes; enabling clears the duplicate-identity mark."""
    changes = {"enabled": enabled, "disabled_reason": reason} | ({"duplicate_ms": None} if enabled else {})
    update_document(session, "service", host, changes)


def fence(session: Session, host: str, *, force: bool = False, replace: bool = False) -> int:
    """Fence a host and return the number of ended claims; raises UnknownHost or HostIsUp."""
    service = session.get_state("service", host)
    # A retry reuses the token, so that it ends no claims made after the first attempt.
    token = uuid.uuid4().hex
    return int(session.call(session.claims_of(service.partition).fence_host, host, token, force=force, replace=replace))


def is_known_empty(session: Session, host: str) -> bool:
    """Return whether a host has audited in this epoch and has no claims; raises UnknownHost."""
    service = session.get_state("service", host)
    if not service.document.get("audited"):
        return False
    return not session.call(session.claims_of(service.partition).list_claims, host=host, limit=1).claims
