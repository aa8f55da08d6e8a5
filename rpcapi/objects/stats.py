# SPDX-License-Identifier: Apache-2.0
"""Resource reports of agents, and their answers."""

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base


@base.GanttObjectRegistry.register
class StatsReport(base.GanttObject):
    """State of a service host's nodes: all of it (``full``), or the changes since report ``base``.

    A full report lists all nodes of the host; unlisted nodes are removed. A delta lists changed keys only; a delta
    without nodes is a heartbeat. The uuid of the agent's state folder is ``host_uuid`` of the request context.

    - ``incarnation``: From the answer to the agent's registration. A report with ``register`` carries the last known
      one, or 0.
    - ``sequence``: Number of the report since the agent's start, from 1.
    - ``nodes``: {resource name: {"inventories": {class: {total, reserved, ...}}, "traits": [...], "availability_zone":
      text, "metrics": {name: number}, "facts": {...}, "host_ip": text, "numa": [...], "kind": "compute" | "volume" |
      "network"}}. An entry with "parent", the name of another provider of the host, is a nested provider with
      inventories and traits only.
    - ``partition``: Partition of the host; None means the scheduler's partition.
    - ``register``: Request a new incarnation; full reports only.
    - ``agent``: Random text, new at each start of an agent.
    - ``stamp``: Newest stamp that the agent received, or None.
    - ``rpc_versions``: With ``register``, the agent's RPC version by topic, or None.
    - ``served``: With ``register``, whether a scheduler has served the agent's state folder before.
    - ``refusal``: With ``register``, why the agent takes no new guests; "" if it does.

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
    """Answer to a report.

    - ``need_full``: The next report must be full.
    - ``audit``: The agent must audit in ``epoch``.
    - ``superseded``: The report came from another incarnation than the host's and changed nothing; the agent must
      register again.
    - ``incarnation``: Of the host; 0 for a superseded agent.
    - ``stamp``: Proves epoch and position of the store to schedulers; the agent keeps it and sends it back.
    - ``required_keys``: Keys that the scheduler uses and later reports must contain: "inventories", "traits",
      "availability_zone", "facts", "host_ip", "numa" and "metrics.<name>", where a name that ends in "=" is a prefix.
      None means all keys.
    - ``refused``: Fields of an InvalidFact per fact that was not stored, at most MAX_REFUSED.

    Version 1.0: Initial version
    """

    MAX_REFUSED = 20

    fields = {
        "sequence": fields.IntegerField(),
        "need_full": fields.BooleanField(default=False),
        "epoch": fields.IntegerField(),
        "audit": fields.BooleanField(default=False),
        "required_keys": fields.ListOfStringsField(nullable=True, default=None),
        "incarnation": fields.IntegerField(default=0),
        "superseded": fields.BooleanField(default=False),
        "stamp": fields.StringField(nullable=True, default=None),
        "refused": base.JsonField(default=[]),
    }

    @property
    def refusals(self) -> list[errors.InvalidFact]:
        return [errors.InvalidFact(**refused) for refused in self.refused]
