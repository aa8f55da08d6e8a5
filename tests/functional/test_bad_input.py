# SPDX-License-Identifier: Apache-2.0
"""Invalid input on a real cluster: a typed error with a message, and no change."""

import subprocess
import uuid
from collections.abc import Iterator

import oslo_messaging as messaging
import pytest

from rpcapi import context, errors, objects
from rpcapi.messaging import bus
from rpcapi.resources.claims import Answer
from rpcapi.serializer import GanttSerializer
from tests.support.clusters import clusters, commands, truth
from tests.support.clusters.clusters import RunningCluster

TINY = {"VCPU": 1, "MEMORY_MB": 512}
HOST, NODE = "compute0", "compute0/node0"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    # Late heartbeats on a slow machine must not look like changes made by a test.
    patient = {"scheduler": {"store": {"service_down_time": 3600}}}
    with clusters.running_cluster(overrides=patient) as running:
        truth.until("all services are known", lambda: service_names(running) == {"compute0", "compute1", *DAEMONS})
        truth.until(
            "agents report only what is read", lambda: all(metric_names <= READING for metric_names in metrics(running))
        )
        yield running


DAEMONS = {"gantt-conductor", "gantt-scheduler"}
READING = {"failed_builds"}  # the metrics read by weighers that are enabled by default


def service_names(running: RunningCluster) -> set[str]:
    """Return the names of the service hosts, and the binaries of the other services."""
    states = running.session.list_all(running.session.scheduler.list_host_state, "states", "service")
    return {state.name.partition("@")[0] for state in states}


def metrics(running: RunningCluster) -> list[set[str]]:
    """Return the metric names of the nodes; an agent's second report removes those that are not read."""
    states = running.session.list_all(running.session.scheduler.list_host_state, "states", "compute")
    return [set(state.document["metrics"]) for state in states]


@pytest.fixture(autouse=True)
def assert_state_unchanged(cluster: RunningCluster) -> Iterator[None]:
    """Assert that a test changes neither claims nor instances nor the log."""

    def state() -> tuple[object, ...]:
        session = cluster.session
        report = session.call(session.claims.verify)
        instances = [i.uuid for i in session.list_all(session.conductor.list_instances, "instances")]
        return report.clean, report.position, dict(report.claims), instances

    before = state()
    yield
    assert state() == before


def spec(**values) -> objects.RequestSpec:
    return objects.RequestSpec.of(**{"resources": TINY, **values})


def build(cluster: RunningCluster, request: objects.RequestSpec, uuids: list[str] | None = None) -> None:
    session = cluster.session
    session.new_request()
    session.call(session.conductor.build_instances, request, [str(uuid.uuid4())] if uuids is None else uuids)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({"resources": {"VCPU": -1}}, errors.InvalidSpec, "VCPU"),
        ({"resources": {"VCPU": 2**40}}, errors.InvalidSpec, "VCPU"),
        ({"resources": {"VCPU": 0}}, errors.InvalidSpec, "VCPU"),
        ({"resources": {}}, errors.InvalidSpec, "resource"),
        ({"resources": {"HOVERCRAFT": 1}}, errors.UnknownResourceClass, "HOVERCRAFT"),
        ({"required_traits": ["HW_NO_SUCH"]}, errors.UnknownTrait, "HW_NO_SUCH"),
        ({"required_traits": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]}, errors.InvalidSpec, "CUSTOM_A"),
        ({"force_hosts": ["a b"]}, errors.InvalidName, "a b"),
        ({"force_hosts": [HOST], "ignore_hosts": [HOST]}, errors.InvalidSpec, "ignore"),
        ({"group_policy": "hostility", "group_id": "g"}, errors.InvalidSpec, "hostility"),
        ({"groups": {"1": {"resources": {"VGPU": 1}}, "2": {"resources": {"VGPU": 1}}}}, errors.InvalidSpec, "policy"),
        ({"groups": {"1": {"resources": {"TEAPOT": 1}}}}, errors.UnknownResourceClass, "TEAPOT"),
        ({"same_subtree": [["1"]]}, errors.InvalidSpec, "group '1', which is not in the request"),
        ({"any_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_A"]}, errors.InvalidSpec, "but forbids all"),
        ({"member_of": [["a"]], "forbidden_aggregates": ["a"]}, errors.InvalidSpec, "but forbids all"),
        ({"numa": {"cells": [], "cpu_policy": "shared"}}, errors.InvalidSpec, "numa.cells must have 1 to 32 elements"),
        ({"hints": {"query": '["<", "$free_ram_mb"'}}, errors.InvalidSpec, "query"),
        ({"hints": {"same_host": "me"}}, errors.InvalidSpec, r"hints.same_host\[0\] must be the uuid of an instance"),
        ({"service": "compost"}, errors.InvalidSpec, "compost"),
    ],
)
def test_spec(cluster, values, error, message):
    with pytest.raises(error, match=message):
        build(cluster, spec(**values))
    with pytest.raises(error, match=message):
        cluster.admin.call(cluster.admin.scheduler.select_destinations, spec(**values), [str(uuid.uuid4())])


@pytest.mark.parametrize("count", [0, 100_000])
def test_count(cluster, count):
    with pytest.raises(errors.InvalidCount, match=f"not {count}"):
        build(cluster, spec(), [str(uuid.uuid4()) for _ in range(count)])


@pytest.mark.parametrize("uuids", [["not-a-uuid"], ["same", "same"], [7]])
def test_uuids(cluster, uuids):
    with pytest.raises(errors.InvalidRequest):
        build(cluster, spec(), uuids)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"resources": {"VCPU": 100_000}}, "VCPU"),
        ({"required_traits": ["CUSTOM_NOWHERE"]}, "trait"),
        ({"availability_zone": "atlantis"}, "zone"),
        ({"ignore_hosts": ["compute0", "compute1"]}, "ignored"),
    ],
)
def test_impossible_request_raises_no_valid_host(cluster, values, message):
    with pytest.raises(errors.NoValidHost, match=message) as caught:
        cluster.admin.call(cluster.admin.scheduler.select_destinations, spec(**values), [str(uuid.uuid4())])
    assert "No valid host" in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere", "compute0/node99"])
def test_unknown_host(cluster, name):
    session = cluster.session
    with pytest.raises(errors.UnknownHost, match=name):
        session.call(session.scheduler.get_host_state, "compute", name)
    with pytest.raises(errors.UnknownHost, match=name):
        cluster.admin.call(cluster.admin.scheduler.select_destinations, spec(force_hosts=[name]), [str(uuid.uuid4())])


def test_unknown_namespace_instance_and_decision(cluster):
    session = cluster.session
    with pytest.raises(errors.UnknownNamespace, match="tarot"):
        session.call(session.scheduler.get_host_state, "tarot", HOST)
    with pytest.raises(errors.UnknownInstance):
        session.call(session.conductor.delete_instances, [str(uuid.uuid4())])
    with pytest.raises(errors.UnknownDecision):
        session.call(session.scheduler.explain, "req-nothing")


@pytest.mark.parametrize(
    "nodes",
    [
        {"compute1/node0": {"inventories": {"VCPU": {"total": 1}}}},
        {NODE: {"inventories": {"VCPU": {"total": -4}}}},
        {NODE: {"inventories": {"VCPU": {"total": 4, "reserved": 9}}}},
        {NODE: {"inventories": {"VCPU": {"total": 4, "allocation_ratio": -1.0}}}},
        {NODE: {"inventories": {"VCPU": {"total": 10**12}}}},
        {NODE: {"inventories": {"VCPU": {"total": "many"}}}},
        {NODE: {"surprise": 1}},
        {NODE: 3},
    ],
)
def test_stats(cluster, nodes):
    with pytest.raises(errors.InvalidStats) as caught:
        report(cluster, nodes, sequence=10**6, full=True)
    assert str(caught.value)


def report(cluster: RunningCluster, nodes: dict[str, object], sequence: int, *, full: bool) -> objects.StatsAnswer:
    """Report as the host's agent, so that only the nodes can be invalid."""
    stats = objects.StatsReport.of(incarnation=1, sequence=sequence, base=sequence - 1, full=full, nodes=nodes)
    return cluster.admin.call(cluster.admin.scheduler.update_resource_stats, HOST, stats)


@pytest.fixture(scope="module")
def incarnation(cluster: RunningCluster) -> int:
    """The incarnation of a host without an agent, whose delta is checked as far as its nodes."""
    nodes = {"agentless": {"inventories": {}}}
    first = objects.StatsReport.of(incarnation=0, register=True, agent="a", sequence=1, full=True, nodes=nodes)
    return cluster.admin.call(cluster.admin.scheduler.update_resource_stats, "agentless", first).incarnation


def test_stats_of_an_unknown_node(cluster, incarnation):
    changes = {"agentless/ghost": {"traits": []}}
    delta = objects.StatsReport.of(incarnation=incarnation, sequence=2, base=1, nodes=changes)
    with pytest.raises(errors.UnknownHost, match="agentless/ghost"):
        cluster.admin.call(cluster.admin.scheduler.update_resource_stats, "agentless", delta)


def test_confirm_of_unknown_claim(cluster):
    unknown = objects.ClaimRefs.of(consumers=[str(uuid.uuid4())], attempts=[1])
    answers = truth.call_as_agent(cluster, cluster.admin.claims.confirm_claims, HOST, unknown)
    assert answers.answers == [Answer.UNKNOWN]


def call_unchecked(running: RunningCluster, method: str, **values: object) -> object:
    """Call the conductor with any payload, without a client's checks."""
    transport = bus.get_transport(running.session.conf)
    target = messaging.Target(topic="conductor", version="1.0")
    client = bus.get_client(transport, target, serializer=messaging.NoOpSerializer(), timeout=10)
    try:
        return client.call(context.new().to_dict(), method, **values)
    finally:
        transport.cleanup()


def primitive(version: str = "1.0", **data: object) -> dict[str, object]:
    serialized = GanttSerializer().serialize_entity(None, spec())
    return {
        **serialized,
        "gantt_object.version": version,
        "gantt_object.data": {**serialized["gantt_object.data"], **data},
    }


@pytest.mark.parametrize(
    ("payload", "error"),
    [
        ({"gantt_object.name": "RequestSpec"}, errors.MalformedObject),
        (primitive(resources="lots"), errors.MalformedObject),
        (primitive(required_traits=[{}]), errors.MalformedObject),
        (primitive(version="1.x"), errors.MalformedObject),
        ({**primitive(), "gantt_object.name": "Teapot"}, errors.MalformedObject),
        ("not an object at all", errors.MalformedObject),
        (None, errors.MalformedObject),
        (primitive(version="7.0"), errors.IncompatibleObject),
    ],
)
def test_malformed_and_too_new_objects(cluster, payload, error):
    with pytest.raises(error) as caught:
        call_unchecked(cluster, "build_instances", spec=payload, uuids=[str(uuid.uuid4())])
    assert str(caught.value)


def test_unknown_method_and_arguments(cluster):
    with pytest.raises((errors.UnknownMethod, messaging.NoSuchMethod), match="make_coffee"):
        call_unchecked(cluster, "make_coffee")
    with pytest.raises(errors.MalformedObject, match="sugar"):
        call_unchecked(cluster, "get_instances", uuids=[], sugar=2)


def gantt(cluster: RunningCluster, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*commands.gantt(), "--config-file", str(cluster.cluster.client_conf)]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("boot", "--flavor", "m9.colossal"), "m9.colossal"),
        (("boot", "--flavor", "m1.tiny", "--count", "0"), "0"),
        (("boot", "--flavor", "m1.tiny", "--count", "100000"), "100000"),
        (("boot", "--flavor", "m1.tiny", "--count", "-3"), "-3"),
        (("boot", "--flavor", "m1.tiny", "--trait", "HW_NO_SUCH"), "HW_NO_SUCH"),
        (("server", "show", "nobody"), "nobody"),
        (("server", "delete", str(uuid.UUID(int=5))), str(uuid.UUID(int=5))),
        (("host", "show", "nowhere"), "nowhere"),
        (("host", "disable", "nowhere", "--reason", "x"), "nowhere"),
        (("claim", "show", "nobody"), "nobody"),
        (("explain", "req-nothing"), "req-nothing"),
    ],
)
def test_command_error_is_one_line(cluster, arguments, message):
    done = gantt(cluster, *arguments)
    assert done.returncode != 0
    (line,) = done.stderr.strip().splitlines()
    assert message in line
    assert done.stdout == ""
    truth.until("still serving", lambda: cluster.session.call(cluster.session.claims.verify).clean)


def test_malformed_option_ends_with_one_line_about_it(cluster):
    done = gantt(cluster, "boot", "--flavor", "m1.tiny", "--hint", "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    *usage, line = done.stderr.strip().splitlines()
    assert usage[0].startswith("usage: gantt boot") and "'nonsense' is not KEY=VALUE" in line
