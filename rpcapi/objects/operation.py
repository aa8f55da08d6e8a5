# SPDX-License-Identifier: Apache-2.0
"""Reboots and rebuilds of guests under their current claims, each executed once."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.validation.documents import IMAGE

REBOOT = "reboot"  # starts a powered-off guest
REBUILD = "rebuild"  # replaces the disk; a powered-off guest stays off
ACTIONS = (REBOOT, REBUILD)
MAX_NUMBER = 2**53 - 1  # largest exact integer in JSON


@base.GanttObjectRegistry.register
class GuestOperations(base.GanttObject):
    """Request of operate_guests: an action on the guest of each attempt.

    ``numbers`` increase with each operation of an instance; an agent executes only operations with a number above the
    last. ``images`` has the RequestSpec.image of each rebuild with a new image, or None. Empty if all are None.

    Version 1.0: Initial version
    """

    fields = {
        "partition": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "actions": base.ColumnField(str),
        "numbers": base.ColumnField(int),
        "images": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def check(self) -> None:
        """Raise InvalidRequest for an unknown action or a number out of range, InvalidSpec for an invalid image."""
        base.check_actions(self.actions, ACTIONS, self.numbers, MAX_NUMBER)
        for image in self.images:
            if image is not None:
                IMAGE("image", image)
