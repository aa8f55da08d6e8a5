# SPDX-License-Identifier: Apache-2.0
"""What the conductor asks of an agent, and what the agent reports back."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class BuildRequest(base.GanttObject):
    """Instances to build on one service host: each under its claim, on the node that the claim names.

    The agent confirms a claim before it spawns; one whose deadline passed on the way is refused there.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("uuids", "attempts", "names")

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "partition": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
    }


@base.GanttObjectRegistry.register
class BuildReport(base.GanttObject):
    """What became of instances on a host; sent again until it is answered.

    ``outcomes``: "active" (runs under a confirmed claim), "refused" (not admitted, or the claim had ended), "failed"
    (spawn failed; the claim is released), "gone" (stopped and released, as asked). ``reasons`` has a sentence each.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("uuids", "attempts", "outcomes", "reasons")

    fields = {
        "host": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "outcomes": base.ColumnField(str),
        "reasons": base.ColumnField(str),
    }
