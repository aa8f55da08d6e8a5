# SPDX-License-Identifier: Apache-2.0
"""Guests of a service host, as its agent reports them on request."""

from oslo_versionedobjects import fields

from rpcapi.objects import base

# States of guests. All but UNJOURNALLED have a live attempt in the agent's journal.
RUNNING = "running"
STOPPED = "stopped"  # powered off
INCOMING = "incoming"  # paused, to be filled by a copy from another host
CONFIRMED = "confirmed"  # the claim is confirmed, and the guest does not exist yet or is about to start again
UNJOURNALLED = "unjournalled"  # the guest exists without a live attempt


@base.GanttObjectRegistry.register
class GuestPage(base.GanttObject):
    """One page of the guests of a service host, ordered by uuid and attempt; ``marker`` is None on the last page.

    Attempts whose claim is not confirmed are left out. ``names`` has the nodes; ``states`` is as the constants above.

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
    """The live attempts of requested instances on one service host, with their owners, from its agent's journal.

    Attempts whose claim is still to be confirmed are among them. ``names`` has the nodes. ``owners`` has {type,
    project, user, request_id, flavor, group_id, group_policy, group_max_per_host} of each, as the build request had
    them. ``states`` is as in GuestPage. ``transitions`` and ``migrations`` are as in BuildReport.

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
