# SPDX-License-Identifier: Apache-2.0
"""Resource reports of hosts and their answers."""

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base


@base.GanttObjectRegistry.register
class StatsReport(base.GanttObject):
    """The state of the nodes of one service host: complete (``full``), or the changes since report ``base``.

    ``incarnation`` is the one that the answer to the agent's registration named. A full report that sets ``register``
    requests one; its own is then the agent's last one, or 0. ``agent`` is a random text of each start of an agent, and
    ``sequence`` numbers the reports of a start from 1.
    ``nodes`` maps a resource name to {"inventories": {class: {total, reserved, ...}}, "traits": [...],
    "availability_zone": text, "metrics": {name: number}, "facts": {...}, "host_ip": text, "numa": [...], "kind":
    "compute" | "volume" | "network"}; a delta has only the changed keys. An entry with a
    "parent", the name of another provider of this host, is a nested provider: it has inventories and traits only. A
    full report has all nodes of the host; nodes that are not in it are removed. A delta without nodes is a heartbeat.
    ``partition`` is the partition of the host; None means the scheduler's. ``stamp`` is the newest stamp that the agent
    got, or None. A report that registers has the agent's RPC version by topic in ``rpc_versions``, or None. It also
    says whether a scheduler has ``served`` the agent's state folder before, and why the agent takes no new guests
    (``refusal``, "" if it takes some). The uuid of that folder is ``host_uuid`` of the request context.

    Version 1.0: Initial version
    """

    fields = {
        "incarnation": fields.IntegerField(),
        "sequence": fields.IntegerField(),
        "base": fields.IntegerField(default=0),
        "full": fields.BooleanField(default=False),
        "nodes": base.JsonField(default={}),
        "partition": fields.StringField(nullable=True, default=None),
        "register": fields.BooleanField(default=False),
        "agent": fields.StringField(default=""),
        "stamp": fields.StringField(nullable=True, default=None),
        "rpc_versions": base.JsonField(nullable=True, default=None),
        "served": fields.BooleanField(default=True),
        "refusal": fields.StringField(default=""),
    }


@base.GanttObjectRegistry.register
class StatsAnswer(base.GanttObject):
    """Answer to a report; ``need_full`` requests a full report, ``audit`` an audit in ``epoch``.

    ``superseded``: the report is of another incarnation than the host's, and changed nothing; its agent must register
    before it reports again. ``incarnation`` is that of the host, 0 to a superseded agent. ``stamp`` proves to
    schedulers the epoch and the position of the store; the agent keeps it and sends it back.
    ``wanted`` lists the keys of a node's state that the scheduler uses and later reports must contain: "inventories",
    "traits", "availability_zone", "facts", "host_ip", "numa" and "metrics.<name>", where a name that ends in "=" is a
    prefix. None: all keys. ``refused`` has the fields of an InvalidFact for each fact that was not stored, at most
    MAX_REFUSED.

    Version 1.0: Initial version
    """

    MAX_REFUSED = 20

    fields = {
        "sequence": fields.IntegerField(),
        "need_full": fields.BooleanField(default=False),
        "epoch": fields.IntegerField(),
        "audit": fields.BooleanField(default=False),
        "wanted": fields.ListOfStringsField(nullable=True, default=None),
        "incarnation": fields.IntegerField(default=0),
        "superseded": fields.BooleanField(default=False),
        "stamp": fields.StringField(nullable=True, default=None),
        "refused": base.JsonField(default=[]),
    }

    @property
    def refusals(self) -> list[errors.InvalidFact]:
        """Return the error of each fact that was not stored."""
        return [errors.InvalidFact(**refused) for refused in self.refused]
