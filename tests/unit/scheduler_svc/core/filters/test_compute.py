# SPDX-License-Identifier: Apache-2.0
"""Service hosts that are down, disabled or too old."""

import pytest

from rpcapi.version import OLDEST_AGENT
from scheduler_svc.core.records import LogEntry
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, make_table, run_filter

NODES = make_nodes("a/1", "a/2", "b/1")


@pytest.mark.parametrize(
    ("kind", "payload", "expected", "reasons"),
    [
        ("alive", {"a": False}, ["b/1"], {"service down for less than a minute": 2}),
        ("service", {"b": {"enabled": False}}, ["a/1", "a/2"], {"service disabled": 1}),
        ("service", {"b": {"enabled": True}}, list(NODES), {}),
        ("service", {"a": {"enabled": True, "rpc_versions": {"compute": "0.9"}}}, ["b/1"], {"agent too old": 2}),
        ("service", {"a": {"enabled": True, "rpc_versions": {"compute": OLDEST_AGENT}}}, list(NODES), {}),
        ("service", {"a": {"enabled": True, "rpc_versions": None}}, list(NODES), {}),
    ],
)
def test_service_must_be_alive_enabled_and_supported(kind, payload, expected, reasons):
    table = make_table("ComputeFilter", NODES)
    table.apply(LogEntry(101, kind, payload))
    assert run_filter("ComputeFilter", table) == (expected, reasons)
