# SPDX-License-Identifier: Apache-2.0
"""Client of the agents: casts to one agent, and to all."""

import pytest

from rpcapi import context
from rpcapi.clients.compute import ComputeAPI


@pytest.mark.parametrize(
    ("method", "values"), [("build_instances", {"request": "request"}), ("terminate_instances", {"refs": "refs"})]
)
def test_instances_are_cast_to_the_agent_of_one_host(sender, options, method, values):
    getattr(ComputeAPI(options, None), method)(context.new(), "host1", **values)
    assert sender.prepared == {"version": "1.0", "server": "host1"}
    assert sender.sent == [("cast", method, values)]


def test_audit_is_cast_to_all_agents(sender, options):
    ComputeAPI(options, None).audit(context.new(), "cell1", 7)
    assert sender.prepared == {"version": "1.0", "fanout": True}
    assert sender.sent == [("cast", "audit", {"partition": "cell1", "epoch": 7})]


def test_cast_has_no_deadline(sender, options):
    ComputeAPI(options, None).terminate_instances(context.new(deadline=12.5), "host1", "refs")
    assert sender.contexts[0].deadline == 0.0
