# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler RPC over RabbitMQ: errors, heartbeats, and calls whose callers have gone."""

import datetime
import threading
import time
import uuid
from functools import partial
from types import SimpleNamespace
from urllib.parse import urlsplit

import oslo_messaging as messaging
import pytest

from devstack.lab.chaos.proxy import TcpProxy
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import errors
from rpcapi.messaging import foreign_bus
from scheduler_svc.core.records import Candidate, ClaimBatch, Intent
from scheduler_svc.store.records import HostReport
from tests.support.clusters.waiting import wait_until
from tests.support.nova import nova_clouds
from tests.support.nova.nova_clouds import CALL_SECONDS, NovaClient, NovaCloud, hosts_of, spec
from tests.support.scheduler.workers import metric_value
from tests.support.servers import running
from tests.support.store.store_partition import LONG_MS, ROOMY, SMALL, node_stats

pytestmark = pytest.mark.timeout(300)

MONITOR_SECONDS = 4  # without a heartbeat, after which a caller gives up
PATIENCE = 10  # in which a worker that starts reads a call; the broker keeps it for CALL_SECONDS
PROBES = 200  # without the lock of the connection, the probe waits for ever after a few


@pytest.fixture(scope="module")
def url():
    with running(RabbitNode) as node:
        yield node.url().replace("gantt-rabbit://", "rabbit://")


@pytest.fixture
def make_cloud(url):
    clouds = []

    def make(url=url, threads=None):
        cloud = NovaCloud(url)
        if threads:
            cloud.conf.set_override("executor_thread_pool_size", threads)
        clouds.append(cloud.start())
        return cloud

    yield make
    for cloud in clouds:
        cloud.stop()


def old_context():
    hour_ago = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    return nova_clouds.new_context(timestamp=hour_ago.replace(tzinfo=None).isoformat())


def test_selection_and_refusal_reach_the_caller(make_cloud):
    cloud = make_cloud()
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    with pytest.raises(messaging.RemoteError) as caught:
        cloud.select(spec(ignore_hosts=["h1"]))
    # Nova's services allow exceptions of their module, and so raise this class.
    assert (caught.value.exc_type, caught.value.value) == (
        "NoValidHost",
        "No valid host was found. There are not enough hosts available.",
    )


def test_long_call_is_kept_alive_by_heartbeats(make_cloud, monkeypatch, url):
    cloud = make_cloud()
    cloud.add_host("h1")
    cloud.follow()
    prepare = cloud.store.prepare

    def slow_prepare(batch):
        time.sleep(2 * MONITOR_SECONDS)
        return prepare(batch)

    monkeypatch.setattr(cloud.store, "prepare", slow_prepare)
    client = NovaClient(url, call_monitor_timeout=MONITOR_SECONDS)
    assert hosts_of(client.select(spec(), [str(uuid.uuid4())])) == [["h1"]]


def test_call_of_a_caller_that_gave_up_while_nobody_listened_claims_nothing(make_cloud, url):
    client = NovaClient(url)
    # Some worker must have declared the queue, or the call would be lost.
    make_cloud().stop()
    before = metric_value("scheduler_dropped_calls_total", method="select_destinations")
    consumer = str(uuid.uuid4())
    with pytest.raises(messaging.MessagingTimeout):
        client.client.prepare(version="4.5", timeout=CALL_SECONDS, call_monitor_timeout=PATIENCE).call(
            old_context(), "select_destinations", spec_obj=spec(), instance_uuids=[consumer], return_objects=True
        )
    cloud = make_cloud()
    cloud.add_host("h1")
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]
    # The queue is read in order, but by several threads.
    dropped = partial(metric_value, "scheduler_dropped_calls_total", method="select_destinations")
    wait_until(lambda: dropped() == before + 1, "the end of the late call")
    assert not cloud.store.claims(consumer=consumer)[0]


def test_call_that_waited_for_a_thread_until_its_caller_gave_up_claims_nothing(make_cloud, monkeypatch, url):
    """Given a backlog: all threads decide, and the next call gets no heartbeat."""
    cloud = make_cloud(threads=1)
    cloud.add_host("h1")
    cloud.follow()
    prepare, is_free, is_busy = cloud.store.prepare, threading.Event(), threading.Event()

    def blocked_prepare(batch):
        is_busy.set()
        is_free.wait(CALL_SECONDS)
        return prepare(batch)

    monkeypatch.setattr(cloud.store, "prepare", blocked_prepare)
    before = metric_value("scheduler_dropped_calls_total", method="select_destinations")
    first = threading.Thread(target=cloud.client.select, args=(spec(), [str(uuid.uuid4())]))
    first.start()
    assert is_busy.wait(CALL_SECONDS)
    consumer = str(uuid.uuid4())
    with pytest.raises(messaging.MessagingTimeout):
        NovaClient(url, call_monitor_timeout=MONITOR_SECONDS).select(spec(), [consumer])
    is_free.set()
    first.join()
    dropped = partial(metric_value, "scheduler_dropped_calls_total", method="select_destinations")
    wait_until(lambda: dropped() == before + 1, "the end of the late call")
    assert not cloud.store.claims(consumer=consumer)[0]


@pytest.fixture
def proxy(url):
    created = TcpProxy(urlsplit(url).port)
    yield created
    created.close()


def test_call_that_waited_while_the_connection_was_lost_claims_nothing(proxy, make_cloud, url):
    """Given a worker that listens for long, and then loses its connection for longer than its caller waits."""
    cloud = make_cloud(url=url.replace(f":{urlsplit(url).port}", f":{proxy.port}"))
    cloud.add_host("h1")
    client = NovaClient(url, call_monitor_timeout=PATIENCE)
    time.sleep(PATIENCE)
    assert hosts_of(client.select(spec(), [str(uuid.uuid4())], old_context())) == [["h1"]]
    before = metric_value("scheduler_dropped_calls_total", method="select_destinations")
    proxy.cut()
    proxy.close_connections()
    consumer = str(uuid.uuid4())
    with pytest.raises(messaging.MessagingTimeout):
        client.select(spec(), [consumer], old_context())
    proxy.mend()
    dropped = partial(metric_value, "scheduler_dropped_calls_total", method="select_destinations")
    wait_until(lambda: dropped() == before + 1, "the end of the late call")
    assert not cloud.store.claims(consumer=consumer)[0]
    # A later request is served at once.
    assert hosts_of(cloud.select(spec())[1]) == [["h1"]]


def test_reply_queue_tells_whether_a_caller_exists(make_cloud, url):
    cloud = make_cloud()
    cloud.add_host("h1")
    cloud.select(spec())  # the client has its reply queue now
    transport = foreign_bus.get_transport(url, "nova", threads=2)
    is_waiting = partial(foreign_bus.may_be_waiting, transport)
    queue = cloud.client.transport._driver._get_reply_q()
    assert is_waiting(SimpleNamespace(reply_q=queue))
    assert not is_waiting(SimpleNamespace(reply_q=f"reply_{uuid.uuid4().hex}"))
    assert is_waiting(SimpleNamespace(reply_q=queue)), "the connection is still good"
    transport.cleanup()


def test_heartbeats_of_the_connection_do_not_hide_that_a_caller_has_gone(url):
    # The thread of heartbeats reads from the connection every millisecond, not every 15 s.
    transport = foreign_bus.get_transport(url, "nova", threads=2, rabbit={"heartbeat_rate": 30000})
    is_waiting = partial(foreign_bus.may_be_waiting, transport)
    verdicts = [is_waiting(SimpleNamespace(reply_q=f"reply_{uuid.uuid4().hex}")) for _ in range(PROBES)]
    transport.cleanup()
    assert not any(verdicts)


def test_server_is_known_by_its_host_and_answers_pings(make_cloud):
    cloud = make_cloud()
    answer = cloud.client.client.prepare(
        namespace="baseapi", version="1.1", server=cloud.conf.scheduler.host, topic="scheduler"
    ).call(nova_clouds.new_context(), "ping", arg="x")
    assert answer == {"service": "scheduler", "arg": "x"}


def test_bus_that_cannot_be_reached_is_reported():
    transport = foreign_bus.get_transport("rabbit://guest:guest@127.0.0.1:1/", "nova", threads=2)
    with pytest.raises(errors.Unavailable, match="message bus"):
        foreign_bus.probe(transport)


def hold_by_agent(store, consumer):
    """Make an agent of gantt prepare a claim of a consumer."""
    report = HostReport(0, 1, {"agent1": node_stats(ROOMY)}, register=True, agent="a")
    registered = store.update_stats("agent1", report)
    store.audit("agent1", registered.epoch, [], 0)
    now = store.snapshot()
    intents = [Intent(consumer, 1, [Candidate("agent1")])]
    batch = ClaimBatch("req-1", "p", "u", SMALL, intents, now.epoch, now.position, ttl_ms=LONG_MS, fresh=True)
    assert store.prepare(batch).accepted


def test_consumer_that_an_agent_holds_is_an_update_that_failed(make_cloud):
    """Given a consumer that changed its owner: Nova must not go on with it, and gets no NoValidHost."""
    cloud = make_cloud()
    cloud.add_host("h1")
    consumer = str(uuid.uuid4())
    hold_by_agent(cloud.store, consumer)
    before = cloud.store.claims(consumer=consumer)
    cloud.follow()
    with pytest.raises(messaging.RemoteError) as caught:
        cloud.client.select(spec(), [str(uuid.uuid4()), consumer])
    assert caught.value.exc_type == "AllocationUpdateFailed"
    assert f"Failed to update allocations for consumer {consumer}. Error: " in caught.value.value
    assert cloud.store.claims(consumer=consumer) == before
    assert len(cloud.store.claims()[0]) == 1, "nor is anything claimed for the other instance"
