# SPDX-License-Identifier: Apache-2.0
"""Migrations in the records of the conductor."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class Migration(base.GanttObject):
    """One move of a server. ``kind``: migration, resize, live-migration or evacuation.

    ``status``, in Nova's words: preparing, migrating, finished, confirming, confirmed, reverting, reverted, error,
    completed or cancelled. While it has not ended, the migration's uuid is the consumer of the claim on
    ``source_host``, which the instance left as attempt ``source_attempt``. ``target`` is the host that was requested.
    ``destination_host`` and ``destination_attempt`` are the current or last ones. ``history`` has {attempt, host,
    outcome, reason} of each ended attempt at a destination, ``reason`` why the migration failed or waits.

    Version 1.0: Initial version
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


@base.GanttObjectRegistry.register
class MigrationPage(base.GanttObject):
    """One page of migrations, oldest first; ``marker`` is None on the last page.

    Version 1.0: Initial version
    """

    fields = {
        "migrations": fields.ListOfObjectsField("Migration"),
        "marker": fields.StringField(nullable=True, default=None),
    }
