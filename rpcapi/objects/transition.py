# SPDX-License-Identifier: Apache-2.0
"""Changes of guests that an agent has: of their power, and of the identity under which they run."""

from collections.abc import Sequence
from typing import Any

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base

RUN = "run"  # start the guest, unless it runs
STOP = "stop"  # power the guest off; it keeps its disk and its claim
END = "end"  # remove the guest, then release the claim
ACTIONS = (RUN, STOP, END)


@base.GanttObjectRegistry.register
class GuestTransitions(base.GanttObject):
    """Request of change_guests: for each claim what its guest is to do.

    The claim is (consumer, attempt). ``instances`` has the instance of each: another uuid than the consumer's where a
    migration holds the claim. ``origins`` has [consumer, attempt] of each identity that the agent may still know the
    claim by: the guest continues under the new one.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("consumers", "attempts", "instances", "origins", "actions")

    fields = {
        "partition": fields.StringField(),
        "consumers": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "instances": base.ColumnField(str),
        "origins": base.ColumnField(list),
        "actions": base.ColumnField(str),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action, or origins that are no identities."""
        for action in self.actions:
            if action not in ACTIONS:
                raise errors.InvalidRequest(why=f"unknown action {action[:40]!r}; allowed: {', '.join(ACTIONS)}")
        check_origins(self.origins)


def check_origins(origins: Sequence[Sequence[Any]]) -> None:
    """Raise InvalidRequest unless each element is a list of identities, [consumer, attempt]."""
    for identities in origins:
        for origin in identities:
            if not isinstance(origin, (list, tuple)) or [type(item) for item in origin] != [str, int]:
                raise errors.InvalidRequest(why=f"an origin must be [consumer, attempt], got {str(origin)[:80]}")
