# SPDX-License-Identifier: Apache-2.0
"""Host reports of agents, and the answers."""

from oslo_versionedobjects import fields

from rpcapi import errors
from rpcapi.objects import base


class StatsReport(base.GanttObject):
    """State of a service host's nodes: all of it (``full``), or the changes since report ``base``.

    Nodes missing from a full report are removed. Other reports have changed keys only; without nodes they are
    heartbeats.

    - ``incarnation``: From the answer to the registration; in a report with ``register`` the last known one, or 0.
    - ``sequence``: Number of the report since the agent's start, from 1.
    - ``nodes``: {resource name: {"inventories": {class: {total, reserved, ...}}, "traits": [...], "availability_zone":
      text, "metrics": {name: number}, "facts": {...}, "host_ip": text, "numa": [...], "kind": "compute" | "volume" |
      "network"}}. A nested provider has inventories and traits only, and "parent": another provider of the host.
    - ``register``: Request a new incarnation; full reports only. With ``rpc_versions`` by topic, ``served`` (whether a
      scheduler ever served the state folder) and ``refusal`` (why the agent takes no new guests).
    - ``agent``: Random text, new at each start of an agent.
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


class StatsAnswer(base.GanttObject):
    """Answer to a host report.

    - ``audit``: The agent must audit in ``epoch``.
    - ``superseded``: Another incarnation serves the host. The report changed nothing; the agent must register again.
    - ``stamp``: Signed epoch and position of the store, which the agent stores and sends back.
    - ``required_keys``: Keys that later reports must contain: "inventories", "traits", "availability_zone", "facts",
      "host_ip", "numa" and "metrics.<name>"; a name that ends in "=" is a prefix. None means all keys.
    - ``refused``: Fields of an InvalidFact per fact that was not stored, at most MAX_REFUSED.
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
