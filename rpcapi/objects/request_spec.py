# SPDX-License-Identifier: Apache-2.0
"""The request spec: one server configuration for all instances of a call."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class RequestSpec(base.GanttObject):
    """A scheduling request; the client translates flavor and image into it.

    The policy of a server group and ``group_max_per_host`` apply to nodes: two nodes of one service host are different.

    Request groups are those of rpcapi.resources.groups.RequestGroup: ``resources``, the traits, ``member_of``,
    ``forbidden_aggregates`` and ``in_tree`` are the unsuffixed group; ``groups`` maps the suffix of each other group to
    its mapping; ``groups_policy`` defines whether these may share a provider. ``root_required``, ``root_forbidden``
    and ``same_subtree`` (lists of suffixes) are as in Placement.

    ``numa`` is {} or {"cells": [{"id", "group", "cpus", "pcpus", "memory_mb"}], "cpu_policy", "thread_policy",
    "page_size_kb"}: the guest's topology, where ``group`` is the request group of a cell. ``image`` is {"id",
    "properties": {...}}, ``extra_specs`` those of the flavor, both for filters. ``volumes`` and ``ports`` are to be
    attached: {"pool": name} is an existing volume; {"size_gb", "group"} a new one, with the request group of its space;
    {"physnet", "segment", "group"} a port, with the request group of its bandwidth. ``service`` is the service whose
    resource is scheduled, ``driver`` the scheduler driver (None: the configured one).

    ``requested_destination`` is {} or where an instance that exists may go, as Nova's Destination: {"host": the only
    service host or node, "partition": that of the instance, "allow_cross_cell_move": whether hosts of other partitions
    are allowed too (false)}; each key may be left out.

    Version 1.0: Initial version
    """

    fields = {
        "flavor": fields.StringField(nullable=True, default=None),
        "resources": base.AmountsField(),
        "required_traits": base.ListField(str, default=[]),
        "forbidden_traits": base.ListField(str, default=[]),
        "availability_zone": fields.StringField(nullable=True, default=None),
        "ignore_hosts": base.ListField(str, default=[]),
        "force_hosts": base.ListField(str, default=[]),
        "hints": base.JsonField(default={}),
        "consumer_type": fields.StringField(default="INSTANCE"),
        "group_id": fields.StringField(nullable=True, default=None),
        "group_policy": fields.StringField(nullable=True, default=None),
        "group_max_per_host": fields.IntegerField(default=1),
        "any_traits": base.ListField(list, default=[]),
        "member_of": base.ListField(list, default=[]),
        "forbidden_aggregates": base.ListField(str, default=[]),
        "in_tree": fields.StringField(nullable=True, default=None),
        "groups": base.JsonField(default={}),
        "groups_policy": fields.StringField(nullable=True, default=None),
        "root_required": base.ListField(str, default=[]),
        "root_forbidden": base.ListField(str, default=[]),
        "same_subtree": base.ListField(list, default=[]),
        "numa": base.JsonField(default={}),
        "image": base.JsonField(default={}),
        "extra_specs": base.JsonField(default={}),
        "volumes": base.ListField(dict, default=[]),
        "ports": base.ListField(dict, default=[]),
        "service": fields.StringField(default="compute"),
        "driver": fields.StringField(nullable=True, default=None),
        "requested_destination": base.JsonField(default={}),
    }
