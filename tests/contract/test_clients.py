# SPDX-License-Identifier: Apache-2.0
"""Every client method exists on its endpoint with the same arguments; a change needs a new version."""

import hashlib
import inspect
import itertools
import re
from typing import Any

import oslo_messaging as messaging
import pytest

from compute_agent.endpoints.compute import ComputeEndpoint
from conductor.endpoints.hosts import HostEndpoint
from conductor.endpoints.instances import InstanceEndpoint
from conductor.endpoints.maintenance import MaintenanceEndpoint
from conductor.endpoints.moves import MoveEndpoint
from conductor.endpoints.power import PowerEndpoint
from conductor.endpoints.repair import RepairEndpoint
from rpcapi import context
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.client import ServiceClient
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import BusBackend, SchedulerAPI
from rpcapi.messaging import bus
from scheduler_svc.endpoints.claims import ClaimsEndpoint
from scheduler_svc.endpoints.decisions import DecisionsEndpoint
from scheduler_svc.endpoints.host_state import HostStateEndpoint
from scheduler_svc.endpoints.nova_audit import NovaAuditEndpoint
from scheduler_svc.endpoints.selection import SelectionEndpoint
from scheduler_svc.endpoints.server_groups import ServerGroupEndpoint

ENDPOINTS = {
    SchedulerAPI: [SelectionEndpoint, HostStateEndpoint, ServerGroupEndpoint, NovaAuditEndpoint, DecisionsEndpoint],
    ClaimsAPI: [ClaimsEndpoint],
    ConductorAPI: [InstanceEndpoint, PowerEndpoint, MoveEndpoint, HostEndpoint, RepairEndpoint, MaintenanceEndpoint],
    ComputeAPI: [ComputeEndpoint],
}

# When methods or arguments of a client change: increase VERSION, add a line to its docstring, then update this table.
FINGERPRINTS = {
    "SchedulerAPI": "1.0-be59f6fedb0a8e6f11755ecd838b4ee2",
    "ClaimsAPI": "1.0-ff3195a79538c50ad0d7478cc5aeb714",
    "ConductorAPI": "1.0-73e3165fb4a8935ff9f4ef8c3879f33c",
    "ComputeAPI": "1.0-06386b59e74d43d4594f5d9784fced15",
}


class Recorder:
    """Replaces the send methods of a client and records the messages."""

    def __init__(self):
        self.sent = []

    def note(self, ctxt: Any, version: str, method: str, /, *_server: Any, **values: Any) -> None:
        self.sent.append((method, version, sorted(values)))

    call = note


def methods(api):
    return {
        name: inspect.signature(method)
        for name, method in vars(api).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }


def exposed(endpoint):
    return {name: method for name, method in vars(endpoint).items() if getattr(method, "exposed", False)}


def served(api):
    """Return the exposed methods of all endpoints of a client; each is on only one of them."""
    methods_by_endpoint = [exposed(endpoint) for endpoint in ENDPOINTS[api]]
    served_methods = {name: method for methods in methods_by_endpoint for name, method in methods.items()}
    assert len(served_methods) == sum(map(len, methods_by_endpoint))
    return served_methods


def sent_by(api):
    """Return {method: (version, argument names)} of the messages of a client, by calling each method once."""
    recorder = Recorder()
    if api is SchedulerAPI:
        client = SchedulerAPI(None, None, backend=recorder)
    else:
        client = object.__new__(api)
        for name in ("call", "_cast"):
            setattr(client, name, recorder.note)
    for name, signature in methods(api).items():
        # The value of each argument is its name.
        parameters = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
        keywords = {
            parameter.name: parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
        }
        getattr(client, name)(
            *(parameter.name for parameter in parameters if parameter.name not in keywords), **keywords
        )
    return {method: (version, values) for method, version, values in recorder.sent}


def version(text):
    return tuple(map(int, text.split(".")))


@pytest.mark.parametrize("api", ENDPOINTS, ids=lambda api: api.__name__)
def test_endpoint_accepts_the_messages_of_its_client(api):
    served_methods = served(api)
    sent = sent_by(api)
    assert set(sent) == set(methods(api)), "a client method sends another method name"
    assert set(sent) == set(served_methods), "client and endpoint do not have the same methods"
    for name, (_version, values) in sent.items():
        arguments = list(inspect.signature(served_methods[name]).parameters)
        assert arguments[:2] == ["self", "ctxt"]
        assert sorted(arguments[2:]) == values, name


@pytest.mark.parametrize("api", ENDPOINTS, ids=lambda api: api.__name__)
def test_endpoint_serves_the_newest_version_of_its_client(api):
    assert {(endpoint.target.version, endpoint.target.namespace) for endpoint in ENDPOINTS[api]} == {
        (api.VERSION, None)
    }
    newest = max((version for version, _values in sent_by(api).values()), key=version)
    assert newest == api.VERSION, "no method has the VERSION of the client"


@pytest.mark.parametrize("api", ENDPOINTS, ids=lambda api: api.__name__)
def test_docstring_lists_all_versions_after_the_first(api):
    text = inspect.cleandoc(api.__doc__)  # Python 3.13 and later remove the indentation themselves
    versions = re.findall(r"^\s*(\d+\.\d+) - ", text, re.MULTILINE)
    assert versions == [f"1.{minor}" for minor in range(1, version(api.VERSION)[1] + 1)]
    for name, (since, _values) in sent_by(api).items():
        history = re.split(r"\n\s*1\.", text.partition(f"{since} - ")[2])[0]
        assert since == "1.0" or name in history, name


@pytest.mark.parametrize("api", ENDPOINTS, ids=lambda api: api.__name__)
def test_fingerprints_are_unchanged(api):
    assert fingerprint(api) == FINGERPRINTS[api.__name__], "A client changed: see the comment at FINGERPRINTS"


def fingerprint(api):
    """Return the version with a digest of all methods: names, arguments, defaults, annotations and versions."""
    sent = sent_by(api)
    lines = [f"{name}{signature} {sent[name]}" for name, signature in sorted(methods(api).items())]
    return f"{api.VERSION}-{hashlib.sha256(repr(lines).encode()).hexdigest()[:32]}"


@pytest.mark.parametrize("endpoint", list(itertools.chain(*ENDPOINTS.values())), ids=lambda endpoint: endpoint.__name__)
def test_only_exposed_methods_are_public(endpoint):
    public = {name for name, value in vars(endpoint).items() if inspect.isfunction(value) and not name.startswith("_")}
    assert public == set(exposed(endpoint))


# -- caps ------------------------------------------------------------------------------------------------------

CTXT = context.new()
CAPPED = [
    ("scheduler", lambda conf, bus_: SchedulerAPI(conf, bus_).remove_host(CTXT, "h1")),
    ("claims", lambda conf, bus_: ClaimsAPI(conf, bus_, "default").fence_host(CTXT, "h1", "token-1")),
    ("conductor", lambda conf, bus_: ConductorAPI(conf, bus_).audit_hosts(CTXT, "default", 1)),
]


@pytest.mark.parametrize(("service", "call"), CAPPED, ids=[service for service, _call in CAPPED])
def test_call_newer_than_the_cap_is_not_sent(capped, service, call):
    conf, transport = capped
    conf.set_override(service, "0.9", group="upgrade_levels")
    with pytest.raises(messaging.RPCVersionCapError):
        call(conf, transport)


@pytest.mark.parametrize(("service", "call"), CAPPED, ids=[service for service, _call in CAPPED])
def test_without_a_cap_the_call_is_sent_and_times_out(capped, service, call):
    with pytest.raises(messaging.MessagingTimeout):
        call(*capped)


def test_call_within_the_cap_is_sent(capped):
    conf, transport = capped
    conf.set_override("scheduler", "1.0", group="upgrade_levels")
    backend = BusBackend(conf, transport)
    with pytest.raises(messaging.RPCVersionCapError):
        backend.call(CTXT, "1.1", "explain")
    with pytest.raises(messaging.MessagingTimeout):
        SchedulerAPI(conf, transport).get_host_state(CTXT, "compute", "h1")


@pytest.fixture
def capped(conf):
    """Return a configuration for caps and a bus without servers."""
    from rpcapi import conf as rpc_conf  # noqa: PLC0415 - the fixture's name is arguments by the module's

    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 0.1, group="rpc")
    transport = bus.get_transport(conf, "fake://")
    conf.set_override("control_exchange", "nobody")  # other suites have servers in this process
    yield conf, transport
    transport.cleanup()


def test_clients_are_service_clients_with_separate_caps():
    clients = [BusBackend, ClaimsAPI, ConductorAPI, ComputeAPI]
    assert all(issubclass(client, ServiceClient) for client in clients)
    assert len({client.TOPIC for client in clients}) == len(clients)
