# SPDX-License-Identifier: Apache-2.0
"""The table of callers covers every exposed method, names existing arguments, and is what docs/security.md shows."""

import inspect

import pytest

from compute_agent.endpoints.compute import ComputeEndpoint
from conductor.endpoints.hosts import HostEndpoint
from conductor.endpoints.instances import InstanceEndpoint
from conductor.endpoints.maintenance import MaintenanceEndpoint
from conductor.endpoints.moves import MoveEndpoint
from conductor.endpoints.power import PowerEndpoint
from conductor.endpoints.repair import RepairEndpoint
from rpcapi.access.callers import CALLERS, CONTEXT, RECORDS
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.decisions import DecisionsEndpoint
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.endpoints.nova_audit import NovaAuditEndpoint
from scheduler_svc.endpoints.selection import SelectionEndpoint
from scheduler_svc.endpoints.server_groups import ServerGroupEndpoint
from tests.support import CHECKOUT

ENDPOINTS = {
    "scheduler": (SelectionEndpoint, HostStateEndpoint, ServerGroupEndpoint, NovaAuditEndpoint, DecisionsEndpoint),
    "claims": (ClaimsEndpoint,),
    "conductor": (InstanceEndpoint, PowerEndpoint, MoveEndpoint, HostEndpoint, RepairEndpoint, MaintenanceEndpoint),
    "compute": (ComputeEndpoint,),
}


def exposed_methods(service):
    methods = [
        (name, method)
        for endpoint in ENDPOINTS[service]
        for name, method in inspect.getmembers(endpoint, inspect.isfunction)
        if hasattr(method, "exposed")
    ]
    by_name = dict(methods)
    assert len(by_name) == len(methods), "the dispatcher finds only the first endpoint of a method"
    return by_name


@pytest.mark.parametrize("service", ENDPOINTS)
def test_each_exposed_method_has_callers(service):
    assert set(CALLERS[service]) == set(exposed_methods(service))


@pytest.mark.parametrize("service", ENDPOINTS)
def test_checked_arguments_exist(service):
    methods = exposed_methods(service)
    for name, rule in CALLERS[service].items():
        arguments = {path.partition(".")[0] for path in (rule.host, *rule.not_by_agents, rule.project) if path}
        arguments -= {CONTEXT, RECORDS}
        assert arguments <= set(inspect.signature(methods[name]).parameters), name


def test_agents_are_bound_to_their_host_wherever_they_change_something():
    unbound = [
        f"{service}.{name}"
        for service, rules in CALLERS.items()
        for name, rule in rules.items()
        if "agent" in rule.roles and rule.host is None
    ]
    assert unbound == ["scheduler.get_oldest_versions", "conductor.object_backport_versions"]


def test_page_shows_the_table():
    rows = [
        f"| `{service}.{name}` | {', '.join(sorted(rule.roles))} | {f'`{rule.host}`' if rule.host else ''} "
        f"| {rule.project or ''} |"
        for service, rules in CALLERS.items()
        for name, rule in rules.items()
    ]
    page = (CHECKOUT / "docs" / "security.md").read_text()
    assert "\n".join(rows) in page, "\n".join(rows)
