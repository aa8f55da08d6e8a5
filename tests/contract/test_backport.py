# SPDX-License-Identifier: Apache-2.0
"""Rolling upgrades: a peer of the previous release gets objects of the versions that it knows.

This process is of a next release, with a later RequestSpec. The peer is a separate process (older_peer.py) of the
present one on a real bus. Like every service it requests the conductor to backport objects that are too new.
"""

import subprocess
import sys
import time

import oslo_messaging as messaging
import pytest

from conductor.endpoints.maintenance import MaintenanceEndpoint
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer
from tests.support import next_release

UUID = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module", params=["redis_server", "rabbit_node"])
def url(request):
    """Return the URL of the embedded bus, then of RabbitMQ."""
    server = request.getfixturevalue(request.param)
    return server.bus_url() if request.param == "redis_server" else server.url()


@pytest.fixture(scope="module")
def current(url):
    """Return configuration and transport of the current release, with a conductor that backports."""
    from oslo_config import cfg  # noqa: PLC0415 - only used here

    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    transport = bus.get_transport(conf, url)
    target = messaging.Target(topic="conductor", server="current")
    # Backporting does not use the conductor.
    server = bus.get_server(transport, target, [MaintenanceEndpoint(None)], GanttSerializer(), executor="threading")
    server.start()
    with next_release.registered():
        yield conf, transport
    server.stop()
    server.wait()
    transport.cleanup()


@pytest.fixture(scope="module")
def older(url, current):
    """Return the process of the previous release, ready to serve."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.contract.older_peer", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdout.readline() == "ready\n"
        yield peer
        peer.terminate()


@pytest.fixture
def scheduler(current, older):
    return SchedulerAPI(*current)


def spec():
    return next_release.RequestSpec.of(resources={"VCPU": 2}, hints={"a": 1}, priority=7)


def test_argument_is_backported_by_the_conductor(scheduler):
    selections = scheduler.select_destinations(context.new(), spec(), [UUID])
    assert selections.host(0) == f"spec-{next_release.PRESENT}"
    received = scheduler.get_host_state(context.new(), "compute", "seen").document["seen"]
    assert received[0]["resources"] == {"VCPU": 2}
    assert "priority" not in received[0]["fields"]


def test_nested_object_is_backported(current, scheduler):
    request = objects.BuildRequest.of(
        spec=spec(), partition="p", project_id="", user_id="", uuids=[UUID], attempts=[1], names=["older"]
    )
    ComputeAPI(*current).build_instances(context.new(), "older", request)
    until = time.monotonic() + 10
    built = []
    while not built and time.monotonic() < until:
        received = scheduler.get_host_state(context.new(), "compute", "seen").document["seen"]
        built = [entry for entry in received if entry.get("uuids") == [UUID]]
    assert built == [{"version": next_release.PRESENT, "uuids": [UUID], "hints": {"a": 1}}]


def test_missing_method_raises_unknown_method_and_a_cap_prevents_the_call(current, scheduler):
    conf, transport = current
    with pytest.raises(errors.UnknownMethod, match=r"topic 'scheduler' has no method 'explain' in version 1\.0"):
        scheduler.explain(context.new(), "req-1")
    conf.set_override("scheduler", "0.9", group="upgrade_levels")
    try:
        with pytest.raises(messaging.RPCVersionCapError):
            SchedulerAPI(conf, transport).explain(context.new(), "req-1")
    finally:
        conf.clear_override("scheduler", group="upgrade_levels")


def test_typed_errors_are_raised_at_the_caller(current, older):
    from rpcapi.clients.conductor import ConductorAPI  # noqa: PLC0415 - only used here

    conductor = ConductorAPI(*current)
    primitive = spec().obj_to_primitive()
    with pytest.raises(errors.IncompatibleObject) as caught:
        conductor.object_backport_versions(context.new(), primitive, {"RequestSpec": "1.99"})
    sentence = f"RequestSpec 1.99 is newer than this service supports ({next_release.NEXT})"
    assert caught.value.sentence.startswith(sentence)
    empty, versions = primitive | {"gantt_object.data": {}}, {"RequestSpec": next_release.PRESENT}
    with pytest.raises(errors.MalformedObject, match="RequestSpec"):
        conductor.object_backport_versions(context.new(), empty, versions)
    with pytest.raises(errors.MalformedObject, match="call of object_backport_versions"):
        conductor.object_backport_versions(context.new(), primitive, None)
