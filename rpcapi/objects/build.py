# SPDX-License-Identifier: Apache-2.0
"""Build requests to agents, and the agents' build reports."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class BuildRequest(base.GanttObject):
    """Instances to build on one service host, each on the node of its claim.

    The agent confirms each claim before it spawns the guest; an expired claim is refused.

    - ``allocations``: {provider: {class: amount}} of each claim; None means the spec's resources at the node. Empty if
      all elements are None.
    - ``powered_off``: Instances whose guests are created but not started; their hosts report them as stopped.
    - ``moves``: MoveEnd of each instance that moves to this host, or None. Empty if none does.

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
        "moves": base.ColumnField(dict, nullable_items=True, default=[]),
    }


@base.GanttObjectRegistry.register
class BuildReport(base.GanttObject):
    """Results of builds, deletions and power changes on a host. The agent repeats a report until it is answered.

    - ``outcomes``: "active" (runs under a confirmed claim), "stopped" (powered off), "incoming" (paused guest that a
      copy may fill), "refused" (not admitted, or the claim had ended), "failed" (spawn failed, claim released) or
      "gone" (deleted on request, claim released).
    - ``reasons``: A sentence, also about a failed copy; for an active instance its assignments other than amounts, such
      as pinned CPUs, or "".
    - ``operations``: Number of each guest's last reboot or rebuild, 0 for none. Empty if all are 0.
    - ``copies``: {number, phase} of each guest's last copy from this host, see rpcapi.objects.copy. Empty if there was
      no copy.
    - ``transitions``: Number of the last transition that each guest followed, see rpcapi.objects.GuestTransitions.
      Empty if all are 0.
    - ``migrations``: Migration for which a stopped guest was powered off, or None. Empty if all are None.

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
