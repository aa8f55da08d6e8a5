# SPDX-License-Identifier: Apache-2.0
"""Guests of a service host, as listed by its agent."""

from oslo_versionedobjects import fields

from rpcapi.objects import base

# States of guests. All but UNJOURNALLED have a live attempt in the agent's journal.
RUNNING = "running"
STOPPED = "stopped"  # powered off
INCOMING = "incoming"  # paused, waits for a copy from another host
CONFIRMED = "confirmed"  # the claim is confirmed; the guest does not exist yet or is about to start again
UNJOURNALLED = "unjournalled"  # the guest exists without a live attempt


@base.GanttObjectRegistry.register
class GuestPage(base.GanttObject):
    """Page of the guests of a service host, by uuid and attempt; ``marker`` is None on the last page.

    Attempts without a confirmed claim are omitted. ``names`` has the nodes, ``states`` the constants of this module.

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
    """Live attempts of the requested instances on one service host, with their owners, from its agent's journal.

    Attempts with an unconfirmed claim are included. ``names`` has the nodes. ``owners`` has {type, project, user,
    request_id, flavor, group_id, group_policy, group_max_per_host} from the build request. ``states`` is as in
    GuestPage; ``transitions`` and ``migrations`` are as in BuildReport.

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
