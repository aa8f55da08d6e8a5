# SPDX-License-Identifier: Apache-2.0
"""Server groups, whose policy never changes, as in Nova."""

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base
from rpcapi.objects.request_spec import RequestSpec


class ServerGroup(base.GanttObject):
    """Server group of a project; ``max_per_host`` limits its members per node, for anti-affinity only."""

    fields = {
        "id": fields.StringField(),
        "name": fields.StringField(default=""),
        "project": fields.StringField(),
        "policy": fields.StringField(),
        "max_per_host": base.StrictIntegerField(default=1),
    }

    def apply_to(self, spec: RequestSpec) -> RequestSpec:
        """Return the spec with the group's policy and limit; raises GroupContradicted if it requests others."""
        rule = {"group_policy": self.policy, "group_max_per_host": self.max_per_host}
        for name, value in rule.items():
            requested = getattr(spec, name)
            if requested not in (None, value):
                raise errors.GroupContradicted(group=self.id, what=name, recorded=value, requested=requested)
        return spec.with_values(**rule)


class ServerGroupPage(base.GanttObject):
    fields = {"groups": fields.ListOfObjectsField("ServerGroup"), **base.MARKER}
