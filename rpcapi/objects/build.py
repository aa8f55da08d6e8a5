# SPDX-License-Identifier: Apache-2.0
"""What the conductor asks of an agent, and what the agent reports back."""

from typing import Any, ClassVar

from oslo_versionedobjects import fields

from rpcapi.objects import base, versions


@base.GanttObjectRegistry.register
class BuildRequest(base.GanttObject):
    """Instances to build on one service host: each under its claim, on the node that the claim names.

    The agent confirms a claim before it spawns; one whose deadline passed on the way is refused there.
    ``allocations`` has what each claim holds, {provider: {class: amount}}; None: the spec's resources at the node.
    It is empty where that is so for all.

    Version 1.0: Initial version
    Version 1.1: Add allocations
    """

    VERSION = "1.1"
    COLUMNS = ("uuids", "attempts", "names")
    SPARSE = ("allocations",)

    # The spec that an agent of each version knows, where it does not say so itself.
    obj_relationships: ClassVar = {"spec": [("1.0", "1.1"), ("1.1", "1.2")]}

    fields = {
        "spec": fields.ObjectField("RequestSpec"),
        "partition": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "uuids": base.ColumnField(str),
        "attempts": base.ColumnField(int),
        "names": base.ColumnField(str),
        "allocations": base.ColumnField(dict, nullable_items=True, default=[]),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"allocations": (1, 1)})


@base.GanttObjectRegistry.register
class BuildReport(base.GanttObject):
    """What became of instances on a host; sent again until it is answered.

    ``outcomes``: "active" (runs under a confirmed claim), "refused" (not admitted, or the claim had ended), "failed"
    (spawn failed; the claim is released), "gone" (stopped and released, as asked). ``reasons`` has a sentence each;
    of an active one, what it was given beside amounts, such as the CPUs that it is pinned to, or nothing.

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
