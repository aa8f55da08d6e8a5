# SPDX-License-Identifier: Apache-2.0
"""Migration records."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class Migration(base.GanttObject):
    """Move of an instance.

    Until it ends, its uuid is the consumer of the claim on ``source_host``, which the instance had as
    ``source_attempt``. ``kind`` is migration, resize, live-migration or evacuation. ``status`` is as in Nova:
    preparing, migrating, finished, confirming, confirmed, reverting, reverted, error, completed or cancelled.
    ``target`` is the requested host. ``history`` has {attempt, host, outcome, reason} of each ended attempt at a
    destination.
    """

    fields = {
        "uuid": fields.StringField(),
        "instance": fields.StringField(),
        "kind": fields.StringField(),
        "status": fields.StringField(),
        "source_host": fields.StringField(),
        "source_partition": fields.StringField(nullable=True, default=None),
        "source_attempt": fields.IntegerField(),
        "target": fields.StringField(nullable=True, default=None),
        "destination_host": fields.StringField(nullable=True, default=None),
        "destination_attempt": fields.IntegerField(nullable=True, default=None),
        "history": base.ListField(dict, default=[]),
        "old_flavor": fields.StringField(nullable=True, default=None),
        "new_flavor": fields.StringField(nullable=True, default=None),
        "request_id": fields.StringField(),
        "reason": fields.StringField(nullable=True, default=None),
        "created_ms": fields.IntegerField(),
        "updated_ms": fields.IntegerField(),
    }


class MigrationPage(base.GanttObject):
    fields = {"migrations": fields.ListOfObjectsField("Migration"), **base.MARKER}
