# SPDX-License-Identifier: Apache-2.0
"""Providers created through the Placement API, with unique names and ids of the form ``@api/UUID``."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.resources import names

AGENT, API = "agent", "api"
FEW = 20  # above this number, one listing replaces single reads

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ID = re.compile(f"{names.API_HOST}{names.SEPARATOR}{_UUID}")


def owner_of(name: str) -> str:
    return API if names.host_of(name) == names.API_HOST else AGENT


def name_of(document: Mapping[str, Any]) -> str | None:
    """Return the name given by a client; None for an agent's provider, which has only an id."""
    name = document.get("name") if document.get("owner") == API else None
    return None if name is None else str(name)


def find(session: Session, text: str) -> Any | None:
    is_uuid = re.fullmatch(_UUID, text.lower()) is not None
    provider = names.api_provider(text.lower()) if is_uuid else text
    if ID.fullmatch(provider):
        try:
            return session.get_state("compute", provider)
        except errors.UnknownHost:
            return None
    return next((state for state in _all(session) if name_of(state.document) == text), None)


def in_tree(session: Session, root: str) -> Iterator[Any]:
    for state in _all(session, {"root": root}):
        if state.name != root:
            yield state


def names_of(session: Session, ids: set[str]) -> dict[str, str]:
    states = (find(session, provider) for provider in ids) if len(ids) <= FEW else _all(session)
    named = ((state.name, name_of(state.document)) for state in states if state is not None)
    return {provider: name for provider, name in named if name is not None}


def _all(session: Session, matching: Mapping[str, Any] | None = None) -> Iterator[Any]:
    conditions = {"host": names.API_HOST, **(matching or {})}
    yield from session.list_states("compute", matching=conditions)
