# SPDX-License-Identifier: Apache-2.0
"""Names of the Placement API's providers instead of their ids, in tables only."""

from collections.abc import Mapping
from typing import Any

from rpcapi.admin import Session, api_providers
from rpcapi.cli.command import TableCell, human_text, machine_value


def show_names(session: Session, fields: Mapping[str, Any]) -> dict[str, Any]:
    (row,) = show_names_in_rows(session, [tuple(fields.values())])
    return dict(zip(fields, row, strict=True))


def show_names_in_rows(session: Session, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    ids = {provider for row in rows for cell in row for provider in api_providers.ID.findall(human_text(cell))}
    if not ids:
        return rows
    shown = api_providers.names_of(session, ids)
    return [tuple(_show_names_in_cell(cell, shown) for cell in row) for row in rows]


def _show_names_in_cell(cell: Any, shown: Mapping[str, str]) -> Any:
    text = human_text(cell)
    named = api_providers.ID.sub(lambda match: shown.get(match[0], match[0]), text)
    return cell if named == text else TableCell(machine_value(cell), named)
