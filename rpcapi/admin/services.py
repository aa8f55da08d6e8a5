# SPDX-License-Identifier: Apache-2.0
"""States of services, from their documents."""

from collections.abc import Mapping
from typing import Any

AGENT = "gantt-compute"  # binary of service hosts
UP, DOWN, TOO_OLD, DUPLICATE = "up", "down", "too old", "duplicate identity"


def state_of(document: Mapping[str, Any]) -> str:
    """Return up, down, or "too old" for an agent with an unsupported RPC version."""
    if not document.get("alive"):
        return DOWN
    return TOO_OLD if document.get("too_old") else UP


def agent_state_of(document: Mapping[str, Any]) -> str:
    """Return the state of an agent; "duplicate identity" if it would be up but another reports as its host, too."""
    state = state_of(document)
    return DUPLICATE if state == UP and document.get("duplicate_ms") is not None else state


def host_of(name: str, document: Mapping[str, Any]) -> str:
    """Return the host of a service: those without nodes are stored as binary@host."""
    return name.removeprefix(f"{document.get('binary', '')}@")
