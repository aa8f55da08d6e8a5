# SPDX-License-Identifier: Apache-2.0
"""Build requests to agents and their build reports."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class BuildRequest(base.GanttObject):
    """Instances to build on a service host. The agent confirms each claim before the spawn.

    ``allocations`` is {provider: {class: amount}}; None means the spec's resources at the node. ``powered_off`` has the
    instances to create without starting them; ``moves`` the MoveEnd of each instance that moves to this host, or None.
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


class BuildReport(base.GanttObject):
    """Results of builds, deletions and power changes on a host. The agent repeats a report until it is answered.

    - ``outcomes``: "active" (running under a confirmed claim), "stopped" (powered off), "incoming" (paused, to be
      filled by a copy), "refused" (not admitted, or the claim had ended), "failed" (not spawned) or "gone" (deleted on
      request). The last two have released the claim.
    - ``reasons``: Explanation; for an active instance its assignments other than amounts, such as pinned CPUs.
    - ``operations``, ``transitions``, ``copies``: Number of each guest's last operation and transition; {number, phase}
      of its last copy from this host.
    - ``migrations``: Migration for which a stopped guest was powered off, or None.
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
