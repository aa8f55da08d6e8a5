# SPDX-License-Identifier: Apache-2.0
"""Build requests to agents and their build reports."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class BuildRequest(base.GanttObject):
    """Instances to build on a service host, each on the node of its claim, which the agent confirms before the spawn.

    - ``allocations``: {provider: {class: amount}}; None means the spec's resources at the node. Empty if all are None.
    - ``powered_off``: Instances to create without starting them.
    - ``moves``: MoveEnd of each instance that moves to this host, or None. Empty if all are None.

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

    - ``outcomes``: "active" (running under a confirmed claim), "stopped" (powered off), "incoming" (paused, to be
      filled by a copy), "refused" (not admitted, or the claim had ended), "failed" (spawn failed, claim released) or
      "gone" (deleted on request, claim released).
    - ``reasons``: Explanation; for an active instance its assignments other than amounts, such as pinned CPUs.
    - ``operations``, ``transitions``: Number of each guest's last operation and transition. Empty if all are 0.
    - ``copies``: {number, phase} of each guest's last copy from this host. Empty if there was no copy.
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
