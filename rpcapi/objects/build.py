# SPDX-License-Identifier: Apache-2.0
"""Build requests of the conductor to an agent, and build reports of the agent."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class BuildRequest(base.GanttObject):
    """Instances to build on one service host, each on the node of its claim.

    The agent confirms each claim before it spawns the guest; a claim with a passed deadline is refused then.
    ``allocations`` has the allocation of each claim, {provider: {class: amount}}; None: the spec's resources at the
    node. It is empty when all elements would be None. ``powered_off`` names the instances whose guests are to be made
    and not started: their hosts report them as stopped. ``migrations`` has the migration of each instance that moves to
    this host; it is empty if none does.

    Version 1.0: Initial version
    """

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "partition": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
        "powered_off": base.ListField(str, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
    }


@base.GanttObjectRegistry.register
class BuildReport(base.GanttObject):
    """Outcome of builds and deletions on a host; the agent repeats it until it is answered.

    ``outcomes``: "active" (runs under a confirmed claim), "refused" (not admitted, or the claim had ended), "failed"
    (spawn failed; the claim is released), "gone" (deleted on request; the claim is released). ``reasons`` has a
    sentence for each; for an active instance its assignments other than amounts, such as pinned CPUs, or "". "stopped":
    the guest is powered off. "incoming": a paused guest exists, which a copy may fill. ``operations`` has the number of
    each guest's last reboot or rebuild, 0 for none; it is empty if all are 0. ``copies`` has {number, phase} of each
    guest's last copy from this host, see rpcapi.objects.copy; it is empty if no guest was copied. The reason of a
    failed copy is in ``reasons``. ``transitions`` has the number of the last transition that each guest followed,
    see rpcapi.objects.GuestTransitions; it is empty if all are 0. ``migrations`` has the migration for which each
    stopped guest was powered off, None if it was for none; it is empty if all are None.

    Version 1.0: Initial version
    """

    fields = {
        "host": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "outcomes": base.ColumnField(str),
        "reasons": base.ColumnField(str),
        "operations": base.ColumnField(int, default=[]),
        "copies": base.ColumnField(dict, nullable_items=True, default=[]),
        "transitions": base.ColumnField(int, default=[]),
        "migrations": base.ColumnField(str, nullable_items=True, default=[]),
    }
