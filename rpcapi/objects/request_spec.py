# SPDX-License-Identifier: Apache-2.0
"""Request spec: one server configuration for all instances of a call."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


class RequestSpec(base.GanttObject):
    """Scheduling request, built by the client from flavor and image.

    Request groups follow rpcapi.resources.groups.RequestGroup. ``resources``, the traits, ``member_of``,
    ``forbidden_aggregates`` and ``in_tree`` form the unsuffixed group. ``groups`` maps each suffix to its group;
    ``groups_policy`` says whether suffixed groups may share a provider. ``root_required``, ``root_forbidden`` and
    ``same_subtree`` (lists of suffixes) are Placement's.

    - ``group_policy``, ``group_max_per_host``: Set from server group ``group_id``; a request may only repeat them. Both
      apply to nodes, not to service hosts.
    - ``numa``: Guest topology, {} or {"cells": [{"id", "group", "cpus", "pcpus", "memory_mb"}], "cpu_policy",
      "thread_policy", "page_size_kb"}; ``group`` is the request group of a cell.
    - ``flavor_amounts``: VCPU, MEMORY_MB and DISK_GB of the flavor, which its extra specs may replace in ``resources``.
    - ``image``: {"id", "name", "disk_format", "properties": {...}} for filters; "min_ram_mb" and "min_disk_gb"
      are minimum flavor sizes.
    - ``volumes``: Volumes to attach: {"pool": name} for an existing one, {"size_gb", "group"} for a new one with the
      request group of its space. The root disk has "boot": true.
    - ``ports``: Ports to attach: {"physnet", "segment", "group"} with the request group of the bandwidth.
    - ``requested_destination``: Hosts allowed for an existing instance, like Nova's Destination; all keys are optional:
      {"host": service host or node, "partition": partition of the instance, "allow_cross_cell_move": whether other
      partitions are allowed (default false)}.
    """

    fields = {
        "flavor": fields.StringField(nullable=True, default=None),
        "flavor_amounts": base.AmountsField(default={}),
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
        "group_max_per_host": base.StrictIntegerField(nullable=True, default=None),
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
