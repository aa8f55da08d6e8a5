# SPDX-License-Identifier: Apache-2.0
"""Operations on guests that run under the claim that they have: each is executed once."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.validation.documents import check_image

REBOOT = "reboot"  # power the guest off and on; it runs afterwards
REBUILD = "rebuild"  # replace the guest's disk; it is off afterwards if it was off before
ACTIONS = (REBOOT, REBUILD)
MAX_NUMBER = 2**53 - 1  # JSON numbers are exact up to there


@base.GanttObjectRegistry.register
class GuestOperations(base.GanttObject):
    """Request of operate_guests: for each attempt what its host does to the guest.

    ``numbers`` grow with each operation of an instance: an agent executes one only if its number is greater than that
    of the last one, and reports the number of the last one with the guest's state. ``images`` has, for rebuilds from
    another image than that of the build request, what RequestSpec.image has; it is empty where all would be None.

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
        """Raise InvalidRequest for an unknown action, a number that is out of range, or an invalid image."""
        base.check_actions(self.actions, ACTIONS, self.numbers, MAX_NUMBER)
        for image in self.images:
            if image is not None:
                check_image(image)
