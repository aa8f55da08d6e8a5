# SPDX-License-Identifier: Apache-2.0
"""Changes beside Nova's calls: consumers that changed meanwhile, and casts that are repeated, reordered or wrong."""

import itertools
import random
import uuid

import pytest

from scheduler_svc.nova.bridge import signals
from tests.support.bus.bus_peer import eventually
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import NovaCloud, destination, hosts_of, spec
from tests.support.scheduler.workers import metric_value

CASTS = (
    *("update_aggregates", "delete_aggregate"),
    *("update_instance_info", "delete_instance_info", "sync_instance_info"),
)
RESOURCES = {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 4}  # of the recorded flavor


@pytest.fixture
def cloud():
    created = NovaCloud()
    created.start()
    yield created
    created.stop()


def put(cloud, consumer, provider, generation):
    body = {
        "allocations": {provider: {"resources": RESOURCES}},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": generation,
        "consumer_type": "INSTANCE",
    }
    answer = cloud.placement.call("PUT", f"/allocations/{consumer}", body)
    assert answer.status == 204, answer


def test_consumer_that_got_something_after_the_ranking_keeps_it(cloud, monkeypatch):
    """Given a client that writes an allocation when the hosts are ranked already: the script reads as it writes."""
    other = cloud.add_host("h1", {**nova_clouds.SIZES, "VCPU": 100})
    selected = cloud.add_host("h2", {**nova_clouds.SIZES, "VCPU": 200})
    cloud.follow()
    consumer, prepare = str(uuid.uuid4()), cloud.store.prepare

    def prepare_after_a_change(batch):
        monkeypatch.setattr(cloud.store, "prepare", prepare)
        put(cloud, consumer, other, None)
        return prepare(batch)

    monkeypatch.setattr(cloud.store, "prepare", prepare_after_a_change)
    request = spec(requested_destination=destination(host="h2"))
    assert hosts_of(cloud.client.select(request, [consumer])) == [["h2"]]
    assert cloud.allocations_of(consumer) == ({other: RESOURCES, selected: RESOURCES}, 2)


def test_client_that_changed_a_consumer_first_expects_its_generation(cloud):
    """Given a conductor that puts an alternate by the generation from before another decision: it gets a conflict."""
    first, second = cloud.add_host("h1"), cloud.add_host("h2")
    cloud.follow()
    consumer = str(uuid.uuid4())
    cloud.client.select(spec(requested_destination=destination(host="h1")), [consumer])
    cloud.client.select(spec(requested_destination=destination(host="h2")), [consumer])
    body = {"allocations": {first: {"resources": RESOURCES}}, "project_id": "p", "user_id": "u"}
    late = {**body, "consumer_generation": 1, "consumer_type": "INSTANCE"}
    assert cloud.placement.call("PUT", f"/allocations/{consumer}", late).status == 409
    assert cloud.allocations_of(consumer) == ({first: RESOURCES, second: RESOURCES}, 2)


def aggregate(name, **fields):
    return nova_clouds.nova_object("Aggregate", "1.3", {"uuid": name, **fields})


def written_namespaces(cloud, position):
    entries = [entry for entry in cloud.store.follow(position, 0) if entry.kind == "state"]
    return set(itertools.chain.from_iterable(entry.payload for entry in entries))


def answered_casts():
    """Return the number of casts that were handled, by this process's metrics."""
    return sum(metric_value("scheduler_calls_total", method=f"nova.{method}", code="ok") for method in CASTS)


@pytest.mark.parametrize("seed", range(5))
def test_casts_in_any_order_and_number_change_no_state_and_no_decision(cloud, seed):
    """Given casts about an aggregate that contradict the databases, each of them up to three times."""
    member = cloud.add_host("h1", {**nova_clouds.SIZES, "VCPU": 100, "DISK_GB": 400, "MEMORY_MB": 40960})
    for name in ("h2", "h3"):
        cloud.add_host(name)
    zone, other = str(uuid.uuid4()), str(uuid.uuid4())
    cloud.put("aggregate", zone, {"hosts": [f"@api/{member}"], "metadata": {"availability_zone": "z1"}})
    cloud.follow()
    moved = aggregate(zone, hosts=["h2"], metadata={"availability_zone": "z2"})
    casts = [
        ("update_aggregates", {"aggregates": [moved]}),
        ("update_aggregates", {"aggregates": aggregate(other, hosts=["h3"], metadata={"availability_zone": "z1"})}),
        ("delete_aggregate", {"aggregate": aggregate(zone)}),
        ("update_instance_info", {"host_name": "h1", "instance_info": {}}),
        ("delete_instance_info", {"host_name": "h2", "instance_uuid": other}),
        ("sync_instance_info", {"host_name": "h3", "instance_uuids": [other]}),
    ]
    chance = random.Random(seed)
    sent = [cast for cast in casts for _ in range(chance.randint(1, 3))]
    chance.shuffle(sent)
    position, before = cloud.store.state.position, signals.reading_requests(cloud.store)
    answered = answered_casts()
    for number, (method, arguments) in enumerate(sent):
        cloud.client.cast_to_all(method, **arguments)
        if not number % 4:
            assert hosts_of(cloud.select(spec(availability_zone="z1"))[1]) == [["h1"]]
    eventually(lambda: answered_casts() == answered + len(sent), "not all casts arrived")
    assert hosts_of(cloud.select(spec(availability_zone="z1"))[1]) == [["h1"]]
    assert written_namespaces(cloud, position) == {signals.NAMESPACE}, "only a request to the bridge to read"
    assert before < signals.reading_requests(cloud.store)


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("update_aggregates", {"aggregates": None}),
        ("update_aggregates", {"aggregates": [{"nova_object.data": {"uuid": 7}}, "x", {}]}),
        ("delete_aggregate", {"aggregate": {"nova_object.data": []}}),
        ("update_instance_info", {"host_name": None, "instance_info": 1, "later": 2}),
        ("delete_instance_info", {}),
        ("sync_instance_info", {"host_name": "h9", "instance_uuids": None}),
    ],
)
def test_malformed_casts_change_nothing(cloud, method, arguments):
    cloud.add_host("h1")
    position, answered = cloud.store.state.position, answered_casts()
    cloud.client.cast_to_all(method, **arguments)
    eventually(lambda: answered_casts() == answered + 1, "the cast did not arrive")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    assert written_namespaces(cloud, position) <= {signals.NAMESPACE}
