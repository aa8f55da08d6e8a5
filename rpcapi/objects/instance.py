# SPDX-License-Identifier: Apache-2.0
"""Instances in the records of the conductor."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Instance(base.GanttObject):
    """One server. ``status``: those of ``gantt server list``, such as ACTIVE, VERIFY_RESIZE, ERROR or DELETED.

    ``flavor`` is the one that it has after a resize. ``migration`` is the uuid of its current or last migration.
    ``host`` is the resource name where its present or last attempt is, or, until it is stopped there to move, that of
    the source of its move. ``reason`` is the error in status ERROR; in status ACTIVE it has the assignments beside
    amounts, such as pinned CPUs. ``history`` has {attempt, host, outcome, reason} of each attempt that ended.

    Version 1.0: Initial version
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
    }


@base.GanttObjectRegistry.register
class RecordedHosts(base.GanttObject):
    """The service hosts that instance records name in one partition, and the epoch of the store that has the records.

    Version 1.0: Initial version
    """

    fields = {
        "hosts": base.ListField(str),
        "epoch": fields.IntegerField(),
    }


@base.GanttObjectRegistry.register
class InstancePage(base.GanttObject):
    """One page of instances, oldest first; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "instances": fields.ListOfObjectsField("Instance"),
        "marker": fields.StringField(nullable=True, default=None),
    }
