# SPDX-License-Identifier: Apache-2.0
"""What is asked for: one shape of server, for as many instances as the call names."""

from typing import Any

from oslo_versionedobjects import fields

from rpcapi.objects import base, versions


@base.GanttObjectRegistry.register
class RequestSpec(base.GanttObject):
    """A request as the scheduler reads it: flavor and image are translated into it once, at the edge.

    The group's policy, and ``group_max_per_host``, count nodes: two nodes of one service host are apart.

    Version 1.0: Initial version
    Version 1.1: Add group_id, group_policy and group_max_per_host
    """

    VERSION = "1.1"

    fields = {
        "flavor": fields.StringField(nullable=True, default=None),
        "resources": base.AmountsField(),
        "required_traits": base.ColumnField(str, default=[]),
        "forbidden_traits": base.ColumnField(str, default=[]),
        "availability_zone": fields.StringField(nullable=True, default=None),
        "ignore_hosts": base.ColumnField(str, default=[]),
        "force_hosts": base.ColumnField(str, default=[]),
        "hints": base.JsonField(default={}),
        "consumer_type": fields.StringField(default="INSTANCE"),
        "group_id": fields.StringField(nullable=True, default=None),
        "group_policy": fields.StringField(nullable=True, default=None),
        "group_max_per_host": fields.IntegerField(default=1),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        group = ("group_id", "group_policy", "group_max_per_host")
        versions.drop_later(primitive, target_version, dict.fromkeys(group, (1, 1)))
