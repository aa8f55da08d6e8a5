# SPDX-License-Identifier: Apache-2.0
"""Services of the former release beside the present ones, each calling the other, on the embedded bus and on RabbitMQ.

The former ones are stub peers in a process of their own, made from the recorded contract of that release; the present
ones are the real clients, and endpoints with the methods and signatures of the real ones.
"""

import inspect
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging as messaging
import pytest
from oslo_config import cfg
from oslo_versionedobjects import fixture

from conductor.backport import backport
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.contract import test_clients
from tests.contract.former import contract
from tests.contract.former.peer import CASTS, OBJECTS, PLAIN, SERVER
from tests.contract.test_objects import sample

APIS = {api.__name__: api for api in test_clients.ENDPOINTS}
CAPS = {"SchedulerAPI": "scheduler", "ClaimsAPI": "claims", "ConductorAPI": "conductor", "ComputeAPI": "compute"}
TOPICS = {"SchedulerAPI": "scheduler", "ClaimsAPI": "claims.p", "ConductorAPI": "conductor", "ComputeAPI": "compute"}
CAST_SECONDS = 60.0
TRANSLATION = "object_backport_versions"  # takes a primitive; the tests of both sides use it all the time
METHODS = [
    (api, method)
    for api, service in contract.SERVICES.items()
    for method in service["methods"]
    if method != TRANSLATION
]


class FormerPeer:
    """The process of the former release."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, **command: Any) -> Any:
        """Send a command, and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def received(self) -> list[Any]:
        """Return what it received since, waiting for a cast that is on its way."""
        deadline = time.monotonic() + CAST_SECONDS
        while not (received := self.ask(received=True)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return received


@pytest.fixture(scope="module", params=["redis_server", "rabbit_node"])
def url(request: pytest.FixtureRequest) -> str:
    server = request.getfixturevalue(request.param)
    return server.bus_url() if request.param == "redis_server" else server.url()


def make_conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 20.0, group="rpc")
    return conf


@pytest.fixture(scope="module")
def start_peer(url: str) -> Iterator[Callable[..., FormerPeer]]:
    """Return a function that starts a peer which serves these topics."""
    processes = []

    def start(*services: str) -> FormerPeer:
        command = [sys.executable, "-W", "ignore", "-m", "tests.contract.former.peer", url, *services]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return FormerPeer(process)

    yield start
    for process in processes:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("name", contract.FINGERPRINTS)
def test_derived_object_has_the_recorded_fingerprint(name: str) -> None:
    hashes = fixture.ObjectVersionChecker({name: [contract.former_class(name)]}).get_hashes()
    assert hashes[name] == contract.FINGERPRINTS[name]


def test_services_that_report_no_version_count_as_this_release() -> None:
    unreported = {"SchedulerAPI": test_clients.BusBackend, "ClaimsAPI": ClaimsAPI} | {
        "ConductorAPI": ConductorAPI,
        "ComputeAPI": ComputeAPI,
    }
    assert {name: client.UNREPORTED for name, client in unreported.items()} == {
        name: service["version"] for name, service in contract.SERVICES.items()
    }


# -- present callers, former services --------------------------------------------------------------------------


class Translator:
    """The present conductor, as far as it translates objects for older services."""

    target = messaging.Target(version=ConductorAPI.VERSION)

    @expose
    def object_backport_versions(self, ctxt: Any, objinst: Any, object_versions: dict[str, str]) -> Any:
        return backport(objinst, object_versions)


@pytest.fixture(scope="module")
def capped(url: str) -> Iterator[tuple[cfg.ConfigOpts, Any]]:
    """Configuration and transport of present callers with the caps of the former release."""
    conf = make_conf()
    for api, service in contract.SERVICES.items():
        conf.set_override(CAPS[api], service["version"], group="upgrade_levels")
    transport = bus.get_transport(conf, url)
    yield conf, transport
    transport.cleanup()


@pytest.fixture(scope="module")
def former_services(capped: Any, start_peer: Any) -> Iterator[FormerPeer]:
    """Schedulers and an agent of the former release beside a present conductor: it is upgraded first."""
    target = messaging.Target(topic="conductor", server="present")
    server = bus.get_server(capped[1], target, [Translator()], GanttSerializer(), executor="threading")
    server.start()
    yield start_peer("scheduler=SchedulerAPI", "claims.p=ClaimsAPI", "compute=ComputeAPI")
    server.stop()
    server.wait()


@pytest.fixture(scope="module")
def former_conductor(former_services: FormerPeer, start_peer: Any) -> FormerPeer:
    """A conductor of the former release, on a topic of its own: the present one translates meanwhile."""
    return start_peer("former-conductor=ConductorAPI")


def present_client(api: str, conf: cfg.ConfigOpts, transport: Any) -> Any:
    return {
        "SchedulerAPI": lambda: SchedulerAPI(conf, transport),
        "ClaimsAPI": lambda: ClaimsAPI(conf, transport, "p"),
        "ConductorAPI": lambda: ConductorAPI(conf, transport, "former-conductor"),
        "ComputeAPI": lambda: ComputeAPI(conf, transport),
    }[api]()


def argument(api: str, name: str) -> Any:
    """Return a sample argument of the present release."""
    if (api, name) == ("ConductorAPI", "report"):
        return sample("BuildReport")
    return sample(OBJECTS[name]) if name in OBJECTS else PLAIN.get(name, name)


def call_present(client: Any, api: str, method: str) -> Any:
    """Call a method with the arguments that the former release knows."""
    argument_names = contract.SERVICES[api]["methods"][method]["arguments"]
    parameters = inspect.signature(getattr(client, method)).parameters
    values = {name: argument(api, name) for name in parameters if name in argument_names}
    if api == "ComputeAPI" and "host" in parameters:
        values["host"] = SERVER
    return getattr(client, method)(context.new(), **values)


@pytest.mark.parametrize(("api", "method"), METHODS)
def test_former_service_accepts_what_a_capped_caller_sends(
    capped: Any, former_services: FormerPeer, former_conductor: FormerPeer, api: str, method: str
) -> None:
    peer = former_conductor if api == "ConductorAPI" else former_services
    client = present_client(api, *capped)
    if (api, method) == ("ConductorAPI", "report_builds"):
        # Agents are upgraded after conductors; a conductor can translate for all but itself.
        with pytest.raises(errors.IncompatibleObject, match=r"BuildReport 1\.3 is newer than this service knows"):
            call_present(client, api, method)
        return
    answer = call_present(client, api, method)
    returns = contract.SERVICES[api]["methods"][method]["returns"]
    if returns in contract.VERSIONS:
        assert isinstance(answer, getattr(objects, returns))
    ((name, versions),) = peer.received()
    assert name == method
    expected = {key: contract.VERSIONS[OBJECTS[key]] for key in versions if key in OBJECTS}
    assert {key: version for key, version in versions.items() if version} == expected


@pytest.mark.parametrize("api", APIS)
def test_what_the_former_release_lacks_is_not_sent(capped: Any, api: str) -> None:
    recorded = contract.SERVICES[api]["methods"]
    newer = {name for name in test_clients.methods(APIS[api]) if name not in recorded}
    assert newer, "each service has newer methods"
    client = present_client(api, *capped)
    for name in sorted(newer):
        parameters = inspect.signature(getattr(client, name)).parameters
        values = {key: argument(api, key) for key in parameters if key != "ctxt"}
        with pytest.raises(messaging.RPCVersionCapError):
            getattr(client, name)(context.new(), **values)


def test_report_with_later_fields_is_translated_for_a_former_scheduler(capped: Any, former_services: Any) -> None:
    report = sample("StatsReport")
    report.rpc_versions = {"compute": ComputeAPI.VERSION}
    SchedulerAPI(*capped).update_resource_stats(context.new(), "h", report)
    ((name, versions),) = former_services.received()
    assert (name, versions["stats"]) == ("update_resource_stats", contract.VERSIONS["StatsReport"])


# -- former callers, present services --------------------------------------------------------------------------


def answered(kind: str) -> Any:
    """Return a sample answer; callers are upgraded before instances are moved, so no instance has a migration.

    For the same reason no migration has a guest. Former callers ask for no details of the errors of several selections,
    and former agents are not told which of their facts were refused.
    """
    if kind == "StatsAnswer":
        return sample(kind).with_values(refused=[])
    if kind == "SelectionAnswers":
        return sample(kind).with_values(details=[])
    if kind == "GuestPage":
        return sample(kind).with_values(instances=[])
    if kind != "InstancePage":
        return sample(kind)
    return objects.InstancePage.of(instances=[sample("Instance").with_values(migration=None)], marker="u")


def present_endpoint(api: type) -> Any:
    """Return an endpoint with the version and the signatures of the real ones, which answers samples."""
    returns = {name: signature.return_annotation for name, signature in test_clients.methods(api).items()}

    def method(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(real)

        def receive(self: Any, ctxt: Any, **values: Any) -> Any:
            signature.bind(self, ctxt, **values)
            kind = getattr(returns[name], "__name__", "")
            return answered(kind) if kind in objects.__all__ else None

        return expose(receive)

    methods = {name: method(name, real) for name, real in test_clients.served(api).items()}
    return type(api.__name__, (), {"target": messaging.Target(version=api.VERSION), **methods})()


@pytest.fixture(scope="module")
def present_services(url: str, former_conductor: FormerPeer) -> Iterator[None]:
    """All services of the present release, on topics of their own."""
    transport = bus.get_transport(make_conf(), url)
    servers = [
        bus.get_server(
            transport,
            messaging.Target(topic=f"present-{TOPICS[name]}", server="present"),
            [present_endpoint(api)],
            GanttSerializer(),
            executor="threading",
        )
        for name, api in APIS.items()
    ]
    for server in servers:
        server.start()
    yield
    for server in servers:
        server.stop()
        server.wait()
    transport.cleanup()


@pytest.mark.parametrize(("api", "method"), METHODS)
def test_present_service_answers_a_former_caller_in_objects_that_it_knows(
    present_services: None, former_conductor: FormerPeer, api: str, method: str
) -> None:
    server = {"server": "present"} if api == "ComputeAPI" else {}
    answer = former_conductor.ask(topic=f"present-{TOPICS[api]}", api=api, method=method, **server)
    if (api, method) in CASTS:
        assert answer is None
        return
    assert "error" not in answer, answer
    returns = contract.SERVICES[api]["methods"][method]["returns"]
    assert answer["version"] == contract.VERSIONS.get(returns)
