# SPDX-License-Identifier: Apache-2.0
"""Request and answer of select_batch."""

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base
from rpcapi.objects.selections import Selections


class SpecColumn(base.Column, fields.ListOfObjectsField):
    """Column of request specs."""


class SelectionRequests(base.GanttObject):
    """Requests to decide together, with one list of uuids each.

    ``projects``, ``users`` and ``deadlines`` (Unix time in seconds, 0 for none) default to the context's.
    ``fresh`` and ``moves`` are as in select_destinations.
    """

    fields = {
        "request_ids": base.ColumnField(str),
        "specs": SpecColumn("RequestSpec"),
        "uuids": base.ColumnField(list),
        "attempts": base.ColumnField(int),
        "alternates": fields.IntegerField(default=2),
        "projects": base.ColumnField(str, default=[]),
        "users": base.ColumnField(str, default=[]),
        "deadlines": base.ColumnField(float, default=[]),
        "fresh": base.ColumnField(bool, default=[]),
        "moves": base.ColumnField(list, default=[]),
    }


class SelectionAnswers(base.GanttObject):
    """Selections or refusal of each request.

    ``served`` has each request's index in ``selections``, or None for a refusal. Then ``codes``, ``reasons`` and, if
    requested, ``details`` are the code, message and fields of the error of select_destinations.
    """

    fields = {
        "selections": fields.ListOfObjectsField("Selections"),
        "served": base.ColumnField(int, nullable_items=True),
        "codes": base.ColumnField(str, nullable_items=True),
        "reasons": base.ColumnField(str),
        "details": base.ColumnField(dict, default=[]),
    }

    def selections_of(self, index: int) -> Selections | None:
        number = self.served[index]
        return None if number is None else self.selections[number]

    def outcome(self, index: int) -> Selections | errors.GanttError:
        selections = self.selections_of(index)
        details = self.details[index] if self.details else {}
        return selections or errors.of_code(self.codes[index], self.reasons[index], details)
