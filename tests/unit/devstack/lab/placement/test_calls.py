# SPDX-License-Identifier: Apache-2.0
"""Timed calls of a server, and the comparison of some answers with what is stored."""

import json
import os

import pytest

from devstack.lab.placement import floor
from devstack.lab.placement.calls import ServerCalls, rate
from devstack.lab.placement.cloud import FLAVOR, USED, Cloud
from rpcapi.cli.command import CommandFailed

HOSTS = Cloud(4).flat
CLASSES = {name: {"capacity": 100, "used": 5} for name in FLAVOR}
ANSWER = {"allocation_requests": [{}], "provider_summaries": {HOSTS[0]: {"resources": CLASSES}}}


def calls(port, used):
    return ServerCalls(port, HOSTS, lambda provider: used)


def test_candidates_are_compared_with_the_store():
    with floor.running(json.dumps(ANSWER).encode(), 1) as port:
        assert len(calls(port, dict.fromkeys(FLAVOR, 5)).candidates(0, 3, "/allocation_candidates")) == 3
        with pytest.raises(CommandFailed, match=f"Provider {HOSTS[0]}"):
            calls(port, dict.fromkeys(FLAVOR, 4)).candidates(0, 3, "/allocation_candidates")
        calls(port, {}).candidates(1, 3, "/allocation_candidates")  # the thousandth is the next to be compared


def test_answer_without_candidates_fails():
    empty = b'{"allocation_requests": [], "provider_summaries": {}}'
    with floor.running(empty, 1) as port, pytest.raises(CommandFailed, match="no candidates"):
        calls(port, {}).candidates(0, 1, "/allocation_candidates")


def test_allocation_that_is_acknowledged_and_not_stored_fails():
    with floor.running(b"{}", 1) as port:
        with pytest.raises(CommandFailed, match="is stored"):
            calls(port, USED).allocate(0, 1)
        assert len(calls(port, USED).allocate(1, 5)) == 5


def test_rate_counts_calls_and_processor_time_of_all_clients():
    with floor.running(b"{}", 1) as port:
        measured = rate(port, [os.getpid()], HOSTS, 2, 1.0)
    assert measured["per_s"] >= 1
    # The processes that are counted as servers are this one and what it started, which sent and answered
    server_s = measured["per_s"] / measured["per_processor_s"]
    client_s = measured["per_s"] * measured["client_us"] / 1e6
    assert server_s >= client_s - 0.05
