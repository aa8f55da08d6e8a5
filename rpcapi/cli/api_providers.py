# SPDX-License-Identifier: Apache-2.0
"""Providers created through the Placement API: lookup by name, and names instead of ids in tables.

Their ids are ``@api/UUID``. Tables show the unique names; JSON and other formats for programs keep the ids.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rpcapi import errors
from rpcapi.cli.cells import Cell, human_text, machine_value
from rpcapi.resources import names

if TYPE_CHECKING:
    from rpcapi.cli.session import Session

AGENT, API = "agent", "api"  # owners of providers and claims
FEW = 20  # providers to read one by one; for more, all are listed

_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(f"{names.API_HOST}{names.SEPARATOR}{_UUID}")


def owner_of(name: str) -> str:
    """Return the owner of a provider, or of a claim's host."""
    return API if names.host_of(name) == names.API_HOST else AGENT


def name_of(document: Mapping[str, Any]) -> str | None:
    """Return the name given by a client; None for an agent's provider, whose id is its name."""
    name = document.get("name") if document.get("owner") == API else None
    return None if name is None else str(name)


def find(session: "Session", text: str) -> Any | None:
    """Return the state of an API provider by name, id or UUID, or None."""
    is_uuid = re.fullmatch(_UUID, text.lower()) is not None
    provider = names.api_provider(text.lower()) if is_uuid else text
    if _ID.fullmatch(provider):
        try:
            return session.call(session.scheduler.get_host_state, "compute", provider)
        except errors.UnknownHost:
            return None
    return next((state for state in _all(session) if name_of(state.document) == text), None)


def in_tree(session: "Session", root: str) -> Iterator[Any]:
    """Yield the states of API providers below a root."""
    for state in _all(session, {"root": root}):
        if state.name != root:
            yield state


def show_names(session: "Session", fields: Mapping[str, Any]) -> dict[str, Any]:
    """Replace ids by names in the human-readable form of columns."""
    (row,) = show_names_in_rows(session, [tuple(fields.values())])
    return dict(zip(fields, row, strict=True))


def show_names_in_rows(session: "Session", rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Replace ids by names in the human-readable form of each row's cells."""
    ids = {provider for row in rows for cell in row for provider in _ID.findall(human_text(cell))}
    if not ids:
        return rows
    shown = _names(session, ids)
    return [tuple(_show_names_in_cell(cell, shown) for cell in row) for row in rows]


def _show_names_in_cell(cell: Any, shown: Mapping[str, str]) -> Any:
    text = human_text(cell)
    named = _ID.sub(lambda match: shown.get(match[0], match[0]), text)
    return cell if named == text else Cell(machine_value(cell), named)


def _names(session: "Session", ids: set[str]) -> dict[str, str]:
    """Return the names of existing providers by id."""
    states = (find(session, provider) for provider in ids) if len(ids) <= FEW else _all(session)
    named = ((state.name, name_of(state.document)) for state in states if state is not None)
    return {provider: name for provider, name in named if name is not None}


def _all(session: "Session", matching: Mapping[str, Any] | None = None) -> Iterator[Any]:
    conditions = {"host": names.API_HOST, **(matching or {})}
    yield from session.list_all(session.scheduler.list_host_state, "states", "compute", matching=conditions)
