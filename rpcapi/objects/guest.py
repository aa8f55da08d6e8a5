# SPDX-License-Identifier: Apache-2.0
"""Guests of a service host: lists by its agent, and requests to change them."""

from rpcapi.objects import base
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation.documents import IMAGE
from rpcapi.validation.moves import read_move

REBOOT = "reboot"  # starts a powered-off guest
REBUILD = "rebuild"  # replaces the disk; a powered-off guest stays off
MAX_NUMBER = 2**53 - 1  # largest exact integer in JSON
RUN = "run"  # boot the guest if it is off or paused for a copy
CONTINUE = "continue"  # like RUN, but resume a paused guest from its memory
STOP = "stop"  # power off; keep disk and claim
END = "end"  # remove the guest, then release the claim


class GuestPage(base.GanttObject):
    """Page of a service host's guests, by uuid and attempt.

    Attempts without a confirmed claim are omitted. ``names`` are nodes; ``states`` are GuestState.
    """

    fields = {
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "states": base.ColumnField(str),
        **base.MARKER,
    }


class GuestOwners(base.GanttObject):
    """Live attempts of the requested instances on a service host, from its agent's journal.

    Attempts without a confirmed claim are included. ``owners`` has {type, project, user, request_id, flavor, group_id,
    group_policy, group_max_per_host}. For the other columns see GuestPage and BuildReport.
    """

    fields = {
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "owners": base.ColumnField(dict),
        "states": base.ColumnField(str),
        "transitions": base.ColumnField(int, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
    }


class GuestOperations(base.GanttObject):
    """Request of operate_guests: an action on the guest of each attempt.

    ``numbers`` increase with each operation of an instance; an agent executes only operations with a number above the
    last. ``images`` has the RequestSpec.image of each rebuild with a new image, or None. Empty if all are None.
    """

    fields = {
        **base.ACTIONS_ON_GUESTS,
        "images": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action or a number out of range, InvalidSpec for an invalid image."""
        base.check_actions(self.actions, (REBOOT, REBUILD), self.numbers, MAX_NUMBER)
        for image in self.images:
            if image is not None:
                IMAGE("image", image)


class GuestTransitions(base.GanttObject):
    """Request of change_guests: an action on the guest of each claim.

    Agents ignore a message with a lower number than an earlier one. ``moves`` has the MoveEnd of each claim in a move
    (after the move with role "only"), or None. Empty if all are None.
    """

    fields = {
        **base.ACTIONS_ON_GUESTS,
        "moves": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action, a number out of range or a malformed move."""
        base.check_actions(self.actions, (RUN, CONTINUE, STOP, END), self.numbers, MAX_AMOUNT)
        for move in self.moves:
            read_move(move)
