# SPDX-License-Identifier: Apache-2.0
"""What a host reports of itself, and what it is answered."""

from typing import Any

from oslo_utils import versionutils
from oslo_versionedobjects import fields

from rpcapi.objects import base, versions

_SINCE_1_2 = frozenset({"parent", "kind", "facts", "host_ip", "numa"})  # of a node


@base.GanttObjectRegistry.register
class StatsReport(base.GanttObject):
    """The state of one service host's nodes: all of it (``full``), or what changed since report ``base``.

    ``incarnation`` is new for each start of the agent and grows; ``sequence`` counts its reports from 1.
    ``nodes`` maps a resource name to {"inventories": {class: {total, reserved, ...}}, "traits": [...],
    "availability_zone": text, "metrics": {name: number}, "facts": {...}, "host_ip": text, "numa": [...], "kind":
    "compute" | "volume" | "network"}; in a delta only the keys that changed are there. A name with a "parent", the name
    of another provider of this host, is no node but what hangs below one: it has inventories and traits alone.
    A full report names all nodes of the host: others that the host had are gone. No nodes in a delta: a heartbeat.
    ``partition`` is where the host belongs; None, as from an older agent: where the scheduler itself does.

    Version 1.0: Initial version
    Version 1.1: Add partition
    Version 1.2: Nodes may have facts, host_ip, numa and kind; providers below a node have a parent
    """

    VERSION = "1.2"

    fields = {
        "incarnation": fields.IntegerField(),
        "sequence": fields.IntegerField(),
        "base": fields.IntegerField(default=0),
        "full": fields.BooleanField(default=False),
        "nodes": base.JsonField(default={}),
        "partition": fields.StringField(nullable=True, default=None),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"partition": (1, 1)})
        if versionutils.convert_version_to_tuple(target_version) < (1, 2):
            primitive["nodes"] = _flat(self.nodes)


def _flat(nodes: Any) -> Any:
    """Return what an older scheduler knows, which refuses all else: hosts of servers, and nothing below them.

    What is no report is for the receiver to refuse.
    """
    if not isinstance(nodes, dict) or not all(isinstance(told, dict) for told in nodes.values()):
        return nodes
    return {
        name: {part: value for part, value in told.items() if part not in _SINCE_1_2}
        for name, told in nodes.items()
        if told.get("parent") is None and told.get("kind", "compute") == "compute"
    }


@base.GanttObjectRegistry.register
class StatsAnswer(base.GanttObject):
    """Whether the report was applied; ``need_full`` asks for a full one, ``audit`` for an audit in ``epoch``.

    ``wanted`` names the keys of a node's state that are read here, and that reports need to hold from now on:
    "inventories", "traits", "availability_zone", "facts", "host_ip", "numa" and "metrics.<name>", where a name that
    ends in "=" stands for all that begin so. None: every key.

    Version 1.0: Initial version
    Version 1.1: Add wanted
    """

    VERSION = "1.1"

    fields = {
        "sequence": fields.IntegerField(),
        "need_full": fields.BooleanField(default=False),
        "epoch": fields.IntegerField(),
        "audit": fields.BooleanField(default=False),
        "wanted": fields.ListOfStringsField(nullable=True, default=None),
    }

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        super().obj_make_compatible(primitive, target_version)
        versions.drop_later(primitive, target_version, {"wanted": (1, 1)})
