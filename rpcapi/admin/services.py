# SPDX-License-Identifier: Apache-2.0
"""Service documents: states of services, and changes of service hosts by operators."""

import uuid
from collections.abc import Mapping
from typing import Any

from rpcapi.admin import Session
from rpcapi.admin.state_write import update_document

AGENT = "gantt-compute"
UP, DOWN, TOO_OLD, DUPLICATE = "up", "down", "too old", "duplicate identity"


def state_of(document: Mapping[str, Any]) -> str:
    """Return UP, DOWN, or TOO_OLD for an unsupported RPC version."""
    if not document.get("alive"):
        return DOWN
    return TOO_OLD if document.get("too_old") else UP


def agent_state_of(document: Mapping[str, Any]) -> str:
    """Return the state of an agent; DUPLICATE if it is up and a second agent reports under its host name."""
    state = state_of(document)
    return DUPLICATE if state == UP and document.get("duplicate_ms") is not None else state


def host_of(name: str, document: Mapping[str, Any]) -> str:
    """Return the host of a service; documents of services without nodes are named ``binary@host``."""
    return name.removeprefix(f"{document.get('binary', '')}@")


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
