# SPDX-License-Identifier: Apache-2.0
"""Instance records."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class Instance(base.GanttObject):
    """Server instance.

    - ``host``: Resource name of the current or last attempt; during a move the source until the instance stops there.
    - ``migration``: Uuid of the current or last migration.
    - ``group_id``: Its server group.
    - ``reason``: Error in status ERROR; in status ACTIVE the assignments other than amounts, such as pinned CPUs.
    - ``history``: {attempt, host, outcome, reason} of each ended attempt.
    """

    fields = {
        "uuid": fields.StringField(),
        "request_id": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "flavor": fields.StringField(nullable=True, default=None),
        "status": fields.StringField(),
        "host": fields.StringField(nullable=True, default=None),
        "attempt": fields.IntegerField(),
        "reason": fields.StringField(nullable=True, default=None),
        "history": base.ListField(dict, default=[]),
        "created_ms": fields.IntegerField(),
        "updated_ms": fields.IntegerField(),
        "name": fields.StringField(nullable=True, default=None),
        "migration": fields.StringField(nullable=True, default=None),
        "group_id": fields.StringField(nullable=True, default=None),
    }


class RecordedHosts(base.GanttObject):
    """Service hosts that instance records name in a partition, and the epoch of the conductors' store."""

    fields = {"hosts": base.ListField(str), "epoch": fields.IntegerField()}


class InstancePage(base.GanttObject):
    fields = {"instances": fields.ListOfObjectsField("Instance"), **base.MARKER}
