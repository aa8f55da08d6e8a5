# SPDX-License-Identifier: Apache-2.0
"""Transitions of guests: power state, and role of the claim in a move."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.moves import read_move

RUN = "run"  # boot the guest if it is off or paused for a copy
CONTINUE = "continue"  # like RUN, but resume a paused guest from its memory
STOP = "stop"  # power off; keep disk and claim
END = "end"  # remove the guest, then release the claim
ACTIONS = (RUN, CONTINUE, STOP, END)


@base.GanttObjectRegistry.register
class GuestTransitions(base.GanttObject):
    """Request of change_guests: an action on the guest of each claim.

    Agents ignore a message with a lower number than an earlier one. ``moves`` has the MoveEnd of each claim in a move
    (after the move with role "only"), or None. Empty if all are None.

    Version 1.0: Initial version
    """

    fields = {
        "partition": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "actions": base.ColumnField(str),
        "numbers": base.ColumnField(int),
        "moves": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action, a number out of range or a malformed move."""
        base.check_actions(self.actions, ACTIONS, self.numbers, MAX_AMOUNT)
        for move in self.moves:
            read_move(move)
