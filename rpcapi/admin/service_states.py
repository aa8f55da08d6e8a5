# SPDX-License-Identifier: Apache-2.0
"""States of services, as their documents show."""

from collections.abc import Mapping
from typing import Any

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
