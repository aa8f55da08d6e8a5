# SPDX-License-Identifier: Apache-2.0
"""What a host reports of itself, and what it is answered."""

from oslo_versionedobjects import fields

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class StatsReport(base.GanttObject):
    """The state of one service host's nodes: all of it (``full``), or what changed since report ``base``.

    ``incarnation`` is new for each start of the agent and grows; ``sequence`` counts its reports from 1.
    ``nodes`` maps a resource name to {"inventories": {class: {total, reserved, ...}}, "traits": [...],
    "availability_zone": text, "metrics": {name: number}}; in a delta only the keys that changed are there.
    A full report names all nodes of the host: others that the host had are gone. No nodes in a delta: a heartbeat.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "incarnation": fields.IntegerField(),
        "sequence": fields.IntegerField(),
        "base": fields.IntegerField(default=0),
        "full": fields.BooleanField(default=False),
        "nodes": base.JsonField(default={}),
    }


@base.GanttObjectRegistry.register
class StatsAnswer(base.GanttObject):
    """Whether the report was applied; ``need_full`` asks for a full one, ``audit`` for an audit in ``epoch``.

    Version 1.0: Initial version
    """

    VERSION = "1.0"

    fields = {
        "sequence": fields.IntegerField(),
        "need_full": fields.BooleanField(default=False),
        "epoch": fields.IntegerField(),
        "audit": fields.BooleanField(default=False),
    }
