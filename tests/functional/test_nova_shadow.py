# SPDX-License-Identifier: Apache-2.0
"""gantt-scheduler in shadow mode beside the scheduler that answers Nova, on one RabbitMQ."""

import time
import uuid

import amqp
import oslo_messaging as messaging
import pytest

from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.messaging import copies, foreign_bus
from rpcapi.messaging.copies import CopyListener, CopySource
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import SIZES, NovaClient, NovaCloud, spec
from tests.support.scheduler.workers import metric_value
from tests.support.servers import running

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:Using the 'executor' argument is deprecated:DeprecationWarning"),
]

WAIT_SECONDS = 30
QUEUE = "gantt_shadow.default"


@pytest.fixture(scope="module")
def node():
    with running(RabbitNode) as rabbit:
        yield rabbit


@pytest.fixture(scope="module")
def url(node):
    return node.url().replace("gantt-rabbit://", "rabbit://")


class ActiveScheduler:
    """Answers Nova in the place of nova-scheduler: ``choose(uuid)`` returns the provider that it claims for each."""

    target = messaging.Target(version="4.5")

    def __init__(self, url, placement):
        self._placement = placement
        self.choose = lambda uuid: None
        self.wait = lambda: None
        self.calls = 0
        self.transport = foreign_bus.get_transport(url, "nova", threads=4)
        target = messaging.Target(exchange="nova", topic="scheduler", server="active")
        policy = messaging.DefaultRPCAccessPolicy
        self.server = messaging.get_rpc_server(
            self.transport, target, [self], executor="threading", access_policy=policy
        )
        self.server.start()

    def select_destinations(self, ctxt, instance_uuids=None, **arguments):
        self.calls += 1
        self.wait()
        providers = [self.choose(consumer) for consumer in instance_uuids]
        for consumer, provider in zip(instance_uuids, providers, strict=True):
            if provider is not None:
                self.claim(consumer, {provider: {"VCPU": 1, "MEMORY_MB": 512}})
        return ["answer of the active scheduler", providers]

    def claim(self, consumer, allocations, generation=None):
        body = {
            "allocations": {provider: {"resources": amounts} for provider, amounts in allocations.items()},
            "project_id": "p",
            "user_id": "u",
            "consumer_generation": generation,
            "consumer_type": "INSTANCE",
        }
        assert self._placement.call("PUT", f"/allocations/{consumer}", body).status == 204

    def stop(self):
        self.server.stop()
        self.server.wait()
        self.transport.cleanup()


class Beside:
    """The active scheduler, and gantt with the same store in shadow mode."""

    def __init__(self, url, **options):
        self.cloud = NovaCloud(url, shadow_timeout=1.0, **options)
        self.cloud.conf.set_override("mode", "shadow", group="scheduler")
        self.active = ActiveScheduler(url, self.cloud.placement)
        self.cloud.start()
        self.client = NovaClient(url)
        self.observer = None

    @property
    def pending(self):
        """Decisions whose counterpart is awaited."""
        observation, _ = self.cloud.service._worker.nova.tasks
        return observation._act.__self__._pending

    def answer_after_the_shadow(self):
        self.active.wait = lambda: wait_for(lambda: self.pending)

    def select(self, request, count=1, **context):
        self.cloud.follow()
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        ctxt = nova_clouds.new_context(**context)
        answer = self.client.select(request, uuids, ctxt)
        return ctxt["request_id"], uuids, answer

    def compared(self, request_id):
        """Wait for the comparison of a request, and return its instances."""

        def find():
            try:
                return self.cloud.store.find_decision(request_id).get("nova")
            except errors.UnknownDecision:
                return None

        return wait_for(find)["instances"]

    def stop(self):
        self.cloud.stop()
        self.active.stop()
        self.client.transport.cleanup()


class Broker:
    """The broker's administrator."""

    def __init__(self, node):
        self._node = node

    def call(self, method, *arguments, **options):
        """Call a method of a channel of its own; raises what the broker answers."""
        node = self._node
        with amqp.Connection(
            f"127.0.0.1:{node.ports.amqp}", "admin", node.passwords.of("admin"), virtual_host="gantt"
        ) as connection:
            return getattr(connection.channel(), method)(*arguments, **options)

    def listeners(self):
        """Return the number of listeners to copies."""
        try:
            return self.call("queue_declare", QUEUE, passive=True).consumer_count
        except (amqp.NotFound, OSError):
            return 0


@pytest.fixture
def broker(node):
    return Broker(node)


@pytest.fixture
def beside(url, broker):
    pair = Beside(url)
    wait_for(broker.listeners)
    yield pair
    pair.stop()
    broker.call("queue_delete", QUEUE)


def wait_for(condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not (value := condition()):
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)
    return value


def test_caller_gets_the_answer_of_the_active_scheduler_and_gantt_claims_nothing(beside):
    provider = beside.cloud.add_host("h1")
    beside.answer_after_the_shadow()
    beside.active.choose = lambda consumer: provider
    before = metric_value("nova_shadow_instances_total", outcome="same host")
    request_id, (consumer,), answer = beside.select(spec())
    assert answer == ["answer of the active scheduler", [provider]]
    (instance,) = beside.compared(request_id)
    assert (instance["outcome"], instance["nova_host"], instance["gantt_host"]) == ("same host", "h1", "h1")
    (claim,) = beside.cloud.store.claims()[0]
    assert (claim.consumer, claim.request_id) == (consumer, "")  # made through Placement's API
    assert metric_value("nova_shadow_instances_total", outcome="same host") == before + 1


def test_host_that_gantt_filters_out_is_reported_with_the_filters_reason(beside, caplog):
    beside.cloud.add_host("h1")
    down = beside.cloud.add_host("h2", up=False)
    beside.answer_after_the_shadow()
    beside.active.choose = lambda consumer: down
    request_id, (consumer,), _ = beside.select(spec())
    (instance,) = beside.compared(request_id)
    assert (instance["outcome"], instance["nova_host"]) == ("Nova's host refused by gantt", "h2")
    assert (instance["gantt_host"], instance["why"]) == ("h1", "compute service down")
    (line,) = [record.getMessage() for record in caplog.records if request_id in record.getMessage()]
    assert consumer in line
    assert "Nova chose h2; gantt chose h1; gantt refuses Nova's host: compute service down" in line
    assert "1 compute service down" in line


def test_worse_and_equal_hosts_are_reported_with_their_rank(beside):
    providers = {name: beside.cloud.add_host(name, sizes) for name, sizes in HOSTS.items()}
    beside.answer_after_the_shadow()
    beside.active.choose = lambda consumer: providers["small"]
    request_id, _, _ = beside.select(spec())
    (instance,) = beside.compared(request_id)
    assert instance["outcome"] == "another host"
    assert instance["gantt_host"] in ("large1", "large2")
    assert (instance["rank"], instance["count"], instance["why"]) == (3, 3, "rank 3 of 3")
    # What the first server took makes the small host no better, and the two large ones stay equal.
    beside.active.choose = lambda consumer: providers["large1"]
    request_id, _, _ = beside.select(spec())
    (instance,) = beside.compared(request_id)
    assert instance["outcome"] in ("same host", "another host with an equal score")
    assert instance["rank"] == 1


HOSTS = {"small": SIZES, "large1": SIZES | {"MEMORY_MB": 8192}, "large2": SIZES | {"MEMORY_MB": 8192}}


def test_refusals_are_distinguished_by_who_refused(beside):
    provider = beside.cloud.add_host("h1")
    beside.answer_after_the_shadow()
    request_id, _, _ = beside.select(spec())
    (instance,) = beside.compared(request_id)
    assert (instance["outcome"], instance["gantt_host"]) == ("refused by Nova only", "h1")
    request_id, _, _ = beside.select(spec(ignore_hosts=["h1"]))
    (instance,) = beside.compared(request_id)
    assert instance["outcome"] == "refused by both"
    assert "1 " in instance["why"]
    beside.active.choose = lambda consumer: provider
    request_id, _, _ = beside.select(spec(force_hosts=["unknown"]))
    (instance,) = beside.compared(request_id)
    assert (instance["outcome"], instance["nova_host"]) == ("refused by gantt only", "h1")
    assert "No such host" in instance["why"]


def test_instances_of_one_request_are_compared_whatever_their_order(beside):
    providers = [beside.cloud.add_host(name) for name in ("h1", "h2")]
    beside.answer_after_the_shadow()
    providers.reverse()
    beside.active.choose = lambda consumer: providers.pop()
    request_id, uuids, _ = beside.select(spec(num_instances=2), count=2)
    instances = beside.compared(request_id)
    assert [instance["outcome"] for instance in instances] == ["same host", "same host"]
    assert [instance["consumer"] for instance in instances] == uuids


def test_evacuated_instance_is_compared_by_what_it_gains(beside):
    source, target = beside.cloud.add_host("source"), beside.cloud.add_host("target")
    beside.cloud.follow()
    consumer = str(uuid.uuid4())
    amounts = {"VCPU": 1, "MEMORY_MB": 512}
    beside.active.claim(consumer, {source: amounts})
    beside.cloud.follow()
    ctxt = nova_clouds.new_context()
    beside.answer_after_the_shadow()
    beside.client.select(spec(ignore_hosts=["source"]), [consumer], ctxt)
    beside.active.claim(consumer, {source: amounts, target: amounts}, generation=1)
    (instance,) = beside.compared(ctxt["request_id"])
    assert (instance["outcome"], instance["nova_host"]) == ("same host", "target")


def test_decision_made_after_novas_claim_is_not_compared(beside):
    provider = beside.cloud.add_host("h1")
    before = metric_value("nova_shadow_skipped_total", reason="late")
    consumer = str(uuid.uuid4())
    beside.active.claim(consumer, {provider: {"VCPU": 1, "MEMORY_MB": 512}})
    beside.cloud.follow()
    beside.client.select(spec(), [consumer])
    wait_for(lambda: metric_value("nova_shadow_skipped_total", reason="late") == before + 1)
    assert not beside.pending


def test_requests_that_claim_nothing_or_cannot_be_read_are_counted(beside):
    beside.cloud.add_host("h1")
    unclaimed = metric_value("nova_shadow_skipped_total", reason="unclaimed")
    invalid = metric_value("nova_shadow_skipped_total", reason="invalid")
    beside.select(spec(scheduler_hints={"_nova_check_type": ["rebuild"]}))
    wait_for(lambda: metric_value("nova_shadow_skipped_total", reason="unclaimed") == unclaimed + 1)
    beside.select({"nova_object.name": "RequestSpec", "nova_object.version": "2.0"})
    wait_for(lambda: metric_value("nova_shadow_skipped_total", reason="invalid") == invalid + 1)
    # The next one is read.
    request_id, _, _ = beside.select(spec())
    assert beside.compared(request_id)


def test_shadow_takes_no_call_that_is_not_answered_by_another(beside):
    """Without an active scheduler a caller waits in vain, as it would without the shadow."""
    beside.cloud.add_host("h1")
    beside.active.stop()
    client = NovaClient(beside.cloud.url)
    ctxt = nova_clouds.new_context()
    with pytest.raises(messaging.MessagingTimeout):
        client.client.prepare(version="4.5", timeout=2, call_monitor_timeout=None).call(
            ctxt, "select_destinations", spec_obj=spec(), instance_uuids=[str(uuid.uuid4())]
        )
    (instance,) = beside.compared(ctxt["request_id"])
    assert instance["outcome"] == "refused by Nova only"
    assert not beside.cloud.store.claims()[0]


def test_copies_come_again_after_a_restart_of_the_broker(beside, node, broker):
    beside.cloud.add_host("h1")
    node.restart()
    # The exchange of Nova's services went with the broker: it comes back with the active scheduler.
    wait_for(broker.listeners)
    beside.answer_after_the_shadow()
    beside.client = NovaClient(beside.cloud.url)
    request_id, _, answer = beside.select(spec())
    assert answer[0] == "answer of the active scheduler"
    assert beside.compared(request_id)


def test_queue_is_bounded_and_vanishes_without_listeners(beside, broker):
    declared = broker.call(
        "queue_declare", QUEUE, durable=True, auto_delete=False, arguments=dict(copies.QUEUE_ARGUMENTS)
    )
    assert declared.consumer_count == 1
    with pytest.raises(amqp.PreconditionFailed):
        broker.call("queue_declare", QUEUE, durable=True, auto_delete=False)
    assert {"x-max-length", "x-message-ttl", "x-expires"} == copies.QUEUE_ARGUMENTS.keys()


def test_exchange_that_nobody_declared_is_awaited(url, broker):
    transport = foreign_bus.get_transport(url, "elsewhere", threads=2)
    source = CopySource("elsewhere", "t", "copies")
    listener = CopyListener(transport, source, lambda *call: None, label="url")
    with pytest.raises(errors.Unavailable, match="Exchange elsewhere"):
        listener.run_once()
    with pytest.raises(amqp.NotFound):
        broker.call("exchange_declare", "elsewhere", "topic", passive=True, auto_delete=False)
    transport.cleanup()


def test_bus_that_does_not_copy_is_refused():
    transport = foreign_bus.get_transport("fake://", "nova", threads=2)
    with pytest.raises(errors.BadConfiguration, match=r"\[nova\] transport_url"):
        CopyListener(transport, CopySource("nova", "t", "copies"), print, label="[nova] transport_url")
