# SPDX-License-Identifier: Apache-2.0
"""Authenticated senders on the embedded bus, with the real users of a real server: the table of callers is enforced."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import oslo_messaging
import pytest

from devstack.servers.redis import RedisServer
from devstack.servers.redis_bus_users import SERVICE_BUS_USERS
from rpcapi import context, errors
from rpcapi.endpoint import expose
from rpcapi.messaging.drivers import redis_keys, wire
from rpcapi.messaging.drivers.redis_channel import BELL
from rpcapi.messaging.drivers.redis_keys import BODIES
from rpcapi.serializer import GanttSerializer
from tests.support.bus.bus_peer import Peers, eventually

MakePeers = Callable[..., Peers]


class Endpoint:
    """Methods of several services, with and without callers in the table."""

    target = oslo_messaging.Target(version="1.0")

    def __init__(self) -> None:
        self.senders: list[tuple[str, str | None]] = []

    @expose
    def fence_host(self, ctxt: context.RequestContext, host: str) -> str:
        return self._note("fence_host", ctxt, host)

    @expose
    def release_claims(self, ctxt: context.RequestContext, host: str) -> str:
        return self._note("release_claims", ctxt, host)

    @expose
    def get_instances(self, ctxt: context.RequestContext, host: str) -> str:
        return self._note("get_instances", ctxt, host)

    @expose
    def audit(self, ctxt: context.RequestContext, host: str) -> str:
        return self._note("audit", ctxt, host)

    def _note(self, method: str, ctxt: context.RequestContext, host: str) -> str:
        self.senders.append((method, ctxt.sender))
        return host


class Cluster:
    """Servers of all services, and clients, each as the bus user that it is in a deployment."""

    def __init__(self, make_peers: MakePeers, server: RedisServer) -> None:
        self.make_peers = make_peers
        self.server = server

    def peers(self, user: str, topic: str) -> Peers:
        peers = self.make_peers(self.server, user)
        peers.topic, peers.exchange = topic, f"gantt-{topic.partition('.')[0]}"
        peers.rpc_options["shared_agent_hosts"] = ["h1"]
        return peers

    def serve(self, user: str, topic: str, name: str = "s1") -> Endpoint:
        endpoint = Endpoint()
        self.peers(user, topic).start(endpoint, name, serializer=GanttSerializer())
        return endpoint

    def client(self, user: str, topic: str, **options: Any) -> Any:
        return self.peers(user, topic).client(serializer=GanttSerializer(), **options)


@pytest.fixture
def cluster(make_peers: MakePeers, make_redis: Callable[..., RedisServer]) -> Cluster:
    return Cluster(make_peers, make_redis(users=SERVICE_BUS_USERS))


@pytest.mark.parametrize(
    ("user", "topic", "server_user", "method"),
    [
        ("operator", "claims.cell1", "scheduler", "fence_host"),
        ("compute", "claims.cell1", "scheduler", "release_claims"),
        ("client", "conductor", "conductor", "get_instances"),
        ("operator", "conductor", "conductor", "get_instances"),
    ],
)
def test_call_is_answered_and_its_sender_known(
    cluster: Cluster, user: str, topic: str, server_user: str, method: str
) -> None:
    endpoint = cluster.serve(server_user, topic)
    client = cluster.client(user, topic)
    for prepared in (client, client.prepare(server="s1")):
        assert prepared.call(context.new(), method, host="h1") == "h1"
    assert endpoint.senders == [(method, user)] * 2


def test_conductor_calls_and_fans_out_to_agents(cluster: Cluster) -> None:
    endpoint = cluster.serve("compute", "compute", "h1")
    client = cluster.client("conductor", "compute")
    assert client.prepare(server="h1").call(context.new(), "audit", host="h1") == "h1"

    def received() -> bool:
        client.prepare(fanout=True).cast(context.new(), "audit", host="all")
        return len(endpoint.senders) > 1

    eventually(received, "a fan-out reaches the agent")
    assert set(endpoint.senders) == {("audit", "conductor")}


@pytest.mark.parametrize(
    ("user", "topic", "method", "host"),
    [
        ("conductor", "claims.cell1", "fence_host", "h1"),
        ("compute", "claims.cell1", "fence_host", "h1"),
        ("compute", "claims.cell1", "release_claims", "another host"),
        ("operator", "claims.cell1", "release_claims", "h1"),
    ],
)
def test_call_of_another_role_is_refused_and_changes_nothing(
    cluster: Cluster, user: str, topic: str, method: str, host: str
) -> None:
    endpoint = cluster.serve("scheduler", topic)
    with pytest.raises(errors.CallerRefused, match=f"refused user '{user}'"):
        cluster.client(user, topic).call(context.new(), method, host=host)
    assert endpoint.senders == []


def test_client_cannot_reach_the_claims_service(cluster: Cluster) -> None:
    endpoint = cluster.serve("scheduler", "claims.cell1")
    with pytest.raises(Exception, match=r"rejected the command.*(can't access|ermission)"):
        cluster.client("client", "claims.cell1").call(context.new(), "fence_host", host="h1")
    assert endpoint.senders == []


def test_sender_in_the_body_is_ignored(cluster: Cluster) -> None:
    endpoint = cluster.serve("scheduler", "claims.cell1")
    client = cluster.peers("compute", "claims.cell1").client()
    forged = GanttSerializer().serialize_context(context.new()) | {"sender": "operator"}
    with pytest.raises(errors.CallerRefused, match="refused user 'compute'"):
        client.call(forged, "fence_host", host="h1")
    assert endpoint.senders == []


def test_reply_of_a_role_that_was_not_called_is_dropped(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    """A scheduler may answer a client's calls, but not those that the client makes to the conductor."""
    transport = cluster.peers("client", "conductor").transport()
    client = cluster.peers("client", "conductor").client(transport=transport, serializer=GanttSerializer(), timeout=60)
    receiver = transport._driver._receiver
    forged = redis_keys.inbox("scheduler", redis_keys.process("client", receiver.reply_to))

    class Forging(Endpoint):
        """Answers after a scheduler has forged an answer."""

        def _note(self, method: str, ctxt: context.RequestContext, host: str) -> str:
            (request_id,) = transport._driver._replies._queues
            text = wire.encode(wire.WireReply(request_id, "forged"))
            with cluster.server.client("scheduler") as scheduler:
                scheduler.lpush(forged, text)
            eventually(lambda: "Dropped a reply from user 'scheduler'" in caplog.text, "the forged reply is dropped")
            return host

    cluster.peers("conductor", "conductor").start(Forging(), "s1", serializer=GanttSerializer())
    assert client.call(context.new(), "get_instances", host="true") == "true"


def test_reply_goes_to_the_sender_whatever_the_body_says(cluster: Cluster) -> None:
    """A captured client cannot make a service write into the inbox of an operator."""
    cluster.serve("conductor", "conductor")
    victim, tag = uuid.uuid4().hex, str(uuid.uuid4())
    queue = redis_keys.topic_queue("client", "gantt-conductor", "conductor")
    ctxt = GanttSerializer().serialize_context(context.new())
    message = {"method": "get_instances", "args": {"host": "h1"}, "version": "1.0"}
    request = wire.WireRequest(ctxt, message, time.time() + 60, reply_to=victim)
    with cluster.server.client("client") as client:
        client.lpush(queue + BODIES, tag + wire.encode(request))
        client.lpush(queue, BELL)
    own = redis_keys.inbox("conductor", redis_keys.process("client", victim))
    with cluster.server.client() as admin:
        eventually(lambda: admin.exists(own), "the reply is in an inbox of the client")
        assert not admin.exists(redis_keys.inbox("conductor", redis_keys.process("operator", victim)))


def test_user_of_another_deployment_is_refused_at_once(cluster: Cluster) -> None:
    peers = cluster.peers("conductor", "conductor")
    peers.url = peers.url.replace("conductor:", "bus:")
    with pytest.raises(errors.BadConfiguration, match="has no user 'bus': its users are scheduler, conductor"):
        peers.transport()
