# SPDX-License-Identifier: Apache-2.0
"""Reboots and rebuilds: operations on guests under their current claims, each executed once."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.validation.documents import IMAGE

REBOOT = "reboot"  # power-cycle the guest; it runs afterwards
REBUILD = "rebuild"  # replace the guest's disk; a powered-off guest stays off
ACTIONS = (REBOOT, REBUILD)
MAX_NUMBER = 2**53 - 1  # largest exact integer in JSON


@base.GanttObjectRegistry.register
class GuestOperations(base.GanttObject):
    """Request of operate_guests: an action on the guest of each attempt.

    ``numbers`` increase with each operation of an instance. An agent executes an operation only if its number exceeds
    the last one, and reports the last number with the guest's state. ``images`` has RequestSpec.image of rebuilds with
    a new image; it is empty if all elements are None.

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
