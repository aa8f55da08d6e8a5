# SPDX-License-Identifier: Apache-2.0
"""Validation of moves in messages."""

from collections.abc import Mapping
from typing import Any

from rpcapi import errors
from rpcapi.resources.claims import ClaimRole, MoveEnd
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.instances import check_uuid

NO_MOVE = MoveEnd()


def read_move(document: Mapping[str, Any] | None) -> MoveEnd:
    """Read the mapping of MoveEnd.as_dict; None is no move. Raises InvalidRequest and InvalidName."""
    if document is None:
        return NO_MOVE
    if not isinstance(document, Mapping):
        raise errors.InvalidRequest(why=f"a move must be a mapping, got {str(document)[:80]}")
    role, attempt = document.get("role"), document.get("source_attempt")
    if role not in list(ClaimRole):
        raise errors.InvalidRequest(
            why=f"the role in a move must be one of {', '.join(ClaimRole)}, got {str(document)[:80]}"
        )
    check_uuid(document.get("migration"), "migration")
    is_number = isinstance(attempt, int) and not isinstance(attempt, bool) and 1 <= attempt <= MAX_AMOUNT
    if not (is_number if role == ClaimRole.DESTINATION else attempt is None):
        raise errors.InvalidRequest(
            why=f"a destination must name the attempt at its source, a source must not; got {str(document)[:160]}"
        )
    return MoveEnd(ClaimRole(role), document["migration"], attempt)


def read_destination(document: Mapping[str, Any] | None) -> MoveEnd:
    """Read the move of a new attempt: a destination, or no move. Raises InvalidRequest and InvalidName."""
    move = read_move(document)
    if move.role not in (ClaimRole.DESTINATION, ClaimRole.ONLY) or (move.migration and move.role is ClaimRole.ONLY):
        raise errors.InvalidRequest(why=f"the move of a new attempt has the role destination, got {move.role}")
    return move
