# SPDX-License-Identifier: Apache-2.0
"""Guests of a service host, as listed by its agent."""

from oslo_versionedobjects import fields

from rpcapi.objects import base

# All states but UNJOURNALLED have a live attempt in the agent's journal.
RUNNING = "running"
STOPPED = "stopped"
INCOMING = "incoming"  # paused until a copy from another host fills it
CONFIRMED = "confirmed"  # the claim is confirmed; the guest is about to be created or started
UNJOURNALLED = "unjournalled"  # the guest has no live attempt


@base.GanttObjectRegistry.register
class GuestPage(base.GanttObject):
    """Page of a service host's guests, by uuid and attempt; ``marker`` is None on the last page.

    Attempts without a confirmed claim are omitted. ``names`` are nodes; ``states`` are constants of this module.

    Version 1.0: Initial version
    """

    fields = {
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "states": base.ColumnField(str),
        "marker": fields.StringField(nullable=True, default=None),
    }


@base.GanttObjectRegistry.register
class GuestOwners(base.GanttObject):
    """Live attempts of the requested instances on a service host, from its agent's journal.

    Attempts without a confirmed claim are included. ``owners`` has {type, project, user, request_id, flavor, group_id,
    group_policy, group_max_per_host}. For the other columns see GuestPage and BuildReport.

    Version 1.0: Initial version
    """

    fields = {
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "owners": base.ColumnField(dict),
        "states": base.ColumnField(str),
        "transitions": base.ColumnField(int, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
    }
