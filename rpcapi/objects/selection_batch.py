# SPDX-License-Identifier: Apache-2.0
"""Request and answer of select_batch."""

from oslo_versionedobjects import fields

from rpcapi.objects import base
from rpcapi.objects.selections import Selections


@base.GanttObjectRegistry.register
class SelectionRequests(base.GanttObject):
    """Requests to decide together, each with its own id, spec and list of uuids.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("request_ids", "specs", "uuids", "attempts")

    fields = {
        "request_ids": base.ColumnField(str),
        "specs": fields.ListOfObjectsField("RequestSpec"),
        "uuids": base.ColumnField(list),
        "attempts": base.ColumnField(int),
        "alternates": fields.IntegerField(default=2),
    }


@base.GanttObjectRegistry.register
class SelectionAnswers(base.GanttObject):
    """For each request, in order, its selections or the reason of its refusal.

    ``served`` has the index in ``selections``, or None; then ``codes`` has the code of the error that
    select_destinations would have raised, and ``reasons`` its message.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("served", "codes", "reasons")

    fields = {
        "selections": fields.ListOfObjectsField("Selections"),
        "served": base.ColumnField(int, nullable_items=True),
        "codes": base.ColumnField(str, nullable_items=True),
        "reasons": base.ColumnField(str),
    }

    def selections_of(self, index: int) -> Selections | None:
        """Return the selections of request ``index``, None when it was refused."""
        number = self.served[index]
        return None if number is None else self.selections[number]
