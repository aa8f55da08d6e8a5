# SPDX-License-Identifier: Apache-2.0
"""What only the embedded bus promises: nothing unacknowledged is lost, nothing of the dead stays, all recovers."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_messaging.rpc import client as rpc_client
from oslo_messaging.server import ServerListenError

from devstack.servers.redis import RedisServer
from devstack.servers.redis_users import BUS, BUS_USERS
from rpcapi.drivers import errors, names, wire
from rpcapi.drivers.transport import BELL, BODIES, TAG_LENGTH
from rpcapi.errors import BadConfiguration
from tests.contract.bus_peer import Ending, Peers, eventually

# Short times, so that the tests see in a second or three what operators see in ten or sixty.
QUICK = {"visibility_timeout": 2, "reply_ttl": 3, "reconnect_backoff_max": 0.2, "socket_timeout": 1.0}

RECEIVED_INDEX = "gantt_bus:received_index"

MakeRedis = Callable[..., RedisServer]


@pytest.fixture(scope="module")
def ending() -> Iterator[Ending]:
    made = Ending()
    yield made
    made.finish()


@pytest.fixture
def make_peers(ending: Ending) -> Iterator[Callable[..., Peers]]:
    made: list[Peers] = []

    def make(server: RedisServer, user: str | None = None, **options: Any) -> Peers:
        made.append(Peers(server.bus_url(user), ending, **{**QUICK, **options}))
        return made[-1]

    yield make
    for peers in made:
        peers.close()


@pytest.fixture
def peers(make_peers: Callable[..., Peers], redis_server: RedisServer) -> Peers:
    return make_peers(redis_server)


class Processes:
    """Real processes on the bus."""

    def __init__(self) -> None:
        self._made: list[subprocess.Popen[str]] = []

    def start(self, peers: Peers, role: str, first_line: str, **wanted: Any) -> subprocess.Popen[str]:
        """Start one, and return when it said its first line."""
        what = {"role": role, "url": peers.url, "topic": peers.topic, "options": QUICK, **wanted}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.contract.bus_process", json.dumps(what)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._made.append(process)
        assert self.said(process) == first_line
        return process

    def server(self, peers: Peers, name: str, **wanted: Any) -> subprocess.Popen[str]:
        return self.start(peers, "server", "ready", name=name, **wanted)

    @staticmethod
    def said(process: subprocess.Popen[str]) -> str:
        """The next line."""
        assert process.stdout is not None
        return process.stdout.readline().strip()

    @staticmethod
    def kill(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        for process in self._made:
            self.kill(process)
            assert process.stdout is not None
            process.stdout.close()


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.kill_all()


def waiting(server: RedisServer, peers: Peers) -> int:
    """How many requests to the topic no server has received."""
    with server.client() as client:
        return int(client.llen(names.topic_queue(peers.exchange, peers.topic) + BODIES))


def unread(server: RedisServer, answer: str) -> bool:
    """Whether this answer lies in any inbox."""
    with server.client() as client:
        inboxes = list(client.scan_iter("gantt_bus:inbox:*"))
        return any(answer in text for inbox in inboxes for text in client.lrange(inbox, 0, -1))


# --- what the dead leave ----------------------------------------------------------------------------------


@pytest.mark.parametrize("executor", ["threading", "eventlet"])
def test_what_a_killed_server_had_not_begun_goes_to_another(
    peers: Peers, processes: Processes, redis_server: RedisServer, executor: str
) -> None:
    doomed = processes.server(peers, "doomed", pool=1, executor=executor)
    client = peers.client()
    client.cast({}, "hold")
    assert processes.said(doomed) == "hold"
    for number in range(5):
        client.cast({}, "note", value=number)
    eventually(lambda: waiting(redis_server, peers) == 0, "the doomed server received all casts")
    heir = peers.serve("heir")
    processes.kill(doomed)
    eventually(lambda: len(heir.seen) == 5, "the other server ran what had not begun")
    assert sorted(heir.seen) == list(range(5))
    assert not heir.entered.is_set(), "what had begun must not begin again: delivery is at most once"


def test_what_a_living_server_holds_stays_with_it(peers: Peers, redis_server: RedisServer) -> None:
    """A message that waits for two visibility timeouts is renewed, not given away."""
    busy = peers.serve("busy", pool=1)
    client = peers.client()
    client.cast({}, "hold")
    assert busy.entered.wait(10)
    client.cast({}, "note", value="mine")
    eventually(lambda: len(busy.server.listener.held()) == 1, "the busy server received the cast")
    (tag,) = busy.server.listener.held()
    idle = peers.serve("idle")
    with redis_server.client() as redis:
        received = redis.zscore(RECEIVED_INDEX, tag)
        late = received + 2 * QUICK["visibility_timeout"]
        eventually(lambda: (redis.zscore(RECEIVED_INDEX, tag) or 0) > late, "its holder renewed it again and again")
    busy.gate.set()
    eventually(lambda: busy.seen, "the busy server ran what it held")
    assert (busy.seen, idle.seen) == (["mine"], [])


def test_answers_to_a_killed_client_expire(peers: Peers, processes: Processes, redis_server: RedisServer) -> None:
    endpoint = peers.serve(name := f"server-{peers.topic}")
    doomed = processes.start(peers, "client", "asking")
    assert endpoint.entered.wait(10)
    processes.kill(doomed)
    endpoint.gate.set()
    eventually(lambda: unread(redis_server, name), "the answer waits for the dead client")
    eventually(lambda: not unread(redis_server, name), "the answer expired")


def test_a_fanout_after_a_servers_death_reaches_the_living_and_forgets_the_dead(
    peers: Peers, processes: Processes, redis_server: RedisServer
) -> None:
    processes.kill(processes.server(peers, "doomed"))
    fanout = names.fanout_members(peers.exchange, peers.topic)
    with redis_server.client() as redis:
        (dead,) = redis.zrange(fanout, 0, -1)
        living = peers.serve("living")
        before = redis.llen(dead)
        peers.client().prepare(fanout=True).cast({}, "note", value=1)
        eventually(lambda: living.seen == [1], "the living server was told")
        assert redis.llen(dead) == before + 1, "a copy waits for the dead"
        eventually(lambda: redis.zscore(fanout, dead) is None, "the dead left the fan-out")
        assert redis.zcard(fanout) == 1
        eventually(lambda: not redis.exists(dead), "its copy expired")


def test_the_last_server_of_a_topic_leaves_its_fanout(peers: Peers, redis_server: RedisServer) -> None:
    endpoint = peers.serve()
    fanout = names.fanout_members(peers.exchange, peers.topic)
    with redis_server.client() as redis:
        assert redis.zcard(fanout) == 1
        endpoint.server.stop()
        assert redis.zcard(fanout) == 0


def test_a_queue_without_a_server_expires(make_peers: Callable[..., Peers], redis_server: RedisServer) -> None:
    peers = make_peers(redis_server, request_ttl=2)
    peers.client().cast({}, "note", value="nobody")
    assert waiting(redis_server, peers) == 1
    eventually(lambda: waiting(redis_server, peers) == 0, "the queue went with its message")


# --- Redis away -------------------------------------------------------------------------------------------


def test_all_recovers_when_redis_was_killed_and_returns(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    other = peers.serve("other")
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1

    redis.kill()
    with pytest.raises(oslo_messaging.MessagingTimeout, match="does not answer"):
        client.prepare(timeout=1).call({}, "echo", value=2)
    with pytest.raises(oslo_messaging.MessageDeliveryFailure, match="does not answer"):
        client.prepare(retry=0).cast({}, "note", value="never")
    patient: list[Any] = []
    caller = threading.Thread(target=lambda: patient.append(client.call({}, "echo", value=3)))
    caller.start()

    redis.start()
    caller.join(15)
    assert patient == [3], "a call that was waiting for the bus goes through when it returns"
    assert client.prepare(server="other").call({}, "who") == "other"
    eventually(lambda: told(client, endpoint) and told(client, other), "fan-outs reach both servers again")


def told(client: Any, endpoint: Any) -> bool:
    client.prepare(fanout=True).cast({}, "note", value="again")
    return bool(endpoint.seen)


def test_a_running_call_whose_answer_meets_an_outage_is_answered(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    client = peers.client()
    answers: list[str] = []
    caller = threading.Thread(target=lambda: answers.append(client.call({}, "hold")))
    caller.start()
    assert endpoint.entered.wait(10)
    redis.kill()
    endpoint.gate.set()
    redis.start()
    caller.join(15)
    assert answers == ["s1"]


def test_nothing_is_lost_or_doubled_when_connections_break(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    client = peers.client()
    with redis.client() as admin:
        for number in range(100):
            client.cast({}, "note", value=number)
            if number % 20 == 10:
                admin.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    eventually(lambda: len(endpoint.seen) >= 100, "all casts ran")
    assert sorted(endpoint.seen) == list(range(100))


def test_a_server_may_start_before_redis_does(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    redis.kill()
    peers = make_peers(redis)
    endpoint = peers.serve()
    redis.start()
    assert peers.client().call({}, "who") == "s1"
    client = peers.client()
    eventually(lambda: told(client, endpoint), "a fan-out reaches it")


def test_a_frozen_redis_ends_a_call_and_thaws(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    peers.serve()
    client = peers.client()
    client.call({}, "echo", value=1)
    assert redis.pid is not None
    os.kill(redis.pid, signal.SIGSTOP)
    try:
        with pytest.raises(oslo_messaging.MessagingTimeout):
            client.prepare(timeout=1).call({}, "echo", value=2)
    finally:
        os.kill(redis.pid, signal.SIGCONT)
    assert client.call({}, "echo", value=3) == 3


def test_a_server_stops_while_redis_is_away(make_peers: Callable[..., Peers], make_redis: MakeRedis) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    endpoint = peers.serve()
    redis.kill()
    endpoint.server.stop()
    endpoint.server.wait()


# --- many servers, few means ------------------------------------------------------------------------------


def test_hundreds_of_servers_share_one_thread_and_few_connections(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    redis = make_redis()
    peers = make_peers(redis)
    transport = peers.transport()
    client = peers.client()
    client.cast({}, "note", value="connects")
    with redis.client() as admin:
        threads, connections = threading.active_count(), len(admin.client_list())
        for number in range(200):
            peers.serve(f"s{number}", transport=transport)
        assert client.prepare(server="s7").call({}, "who") == "s7"
        assert client.prepare(server="s199").call({}, "who") == "s199"
        assert threading.active_count() - threads < 10, "the receivers, and executors of the servers called"
        assert len(admin.client_list()) - connections < 10


def test_a_busy_server_leaves_the_rest_to_others(make_peers: Callable[..., Peers], redis_server: RedisServer) -> None:
    peers = make_peers(redis_server, prefetch=2)
    busy = peers.serve("busy", pool=1)
    client = peers.client()
    client.cast({}, "hold")
    assert busy.entered.wait(10)
    for number in range(20):
        client.cast({}, "note", value=number)
    eventually(lambda: waiting(redis_server, peers) == 18, "the busy server received as many as it may hold")
    other = peers.serve("other")
    eventually(lambda: len(other.seen) == 18, "the other server ran the rest")
    busy.gate.set()
    eventually(lambda: len(busy.seen) == 2, "the busy server ran what it held")
    assert sorted(busy.seen + other.seen) == list(range(20))


def test_a_busy_server_does_not_starve_its_neighbour_in_the_process(
    make_peers: Callable[..., Peers], redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, prefetch=1)
    transport = peers.transport()
    busy = peers.serve("busy", transport=transport, pool=1)
    peers.serve("free", transport=transport)
    client = peers.client()
    for _ in range(4):
        client.prepare(server="busy").cast({}, "hold")
    assert busy.entered.wait(10)
    assert client.prepare(server="free").call({}, "who") == "free"
    busy.gate.set()
    assert client.prepare(server="busy").call({}, "who") == "busy"


# --- what is refused --------------------------------------------------------------------------------------


def test_a_request_too_large_is_refused_where_it_is_sent(
    make_peers: Callable[..., Peers], redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, max_message_bytes=10_000)
    endpoint = peers.serve()
    with pytest.raises(rpc_client.ClientSendError, match="max_message_bytes"):
        peers.client().cast({}, "note", value="x" * 10_000)
    assert peers.client().call({}, "echo", value=1) == 1
    assert endpoint.seen == []


def test_an_answer_too_large_becomes_an_error_of_the_caller(
    make_peers: Callable[..., Peers], redis_server: RedisServer
) -> None:
    peers = make_peers(redis_server, max_message_bytes=10_000)
    peers.serve()
    client = peers.client()
    # oslo.messaging's client wraps every error of a driver, the remote one's too.
    with pytest.raises(rpc_client.ClientSendError, match="max_message_bytes"):
        client.call({}, "answer_of_size", size=10_000)
    assert client.call({}, "answer_of_size", size=10) == "x" * 10


def test_foreign_messages_are_dropped_and_the_server_goes_on(peers: Peers, redis_server: RedisServer) -> None:
    endpoint = peers.serve()
    queue = names.topic_queue(peers.exchange, peers.topic)
    tag = "t" * TAG_LENGTH
    envelope = {"properties": {"delivery_tag": tag, "delivery_info": {"exchange": "", "routing_key": queue}}}
    pickled = {**envelope, "body": "gASVAA==", "content-type": "application/x-python-serialize", "headers": {}}
    other = {**envelope, "body": json.dumps({"kind": "Rumour"}), "content-type": "application/json", "headers": {}}
    newer = {**other, "body": json.dumps({"kind": "Request", "wire": wire.WIRE_VERSION + 1})}
    for each in ("not even JSON", json.dumps(["no message"]), *(json.dumps(each) for each in (pickled, other, newer))):
        push(redis_server, queue, tag + each)
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    assert endpoint.seen == []
    with redis_server.client() as redis:
        eventually(lambda: not redis.llen(queue + BODIES), "all were read")
        assert not redis.hexists("gantt_bus:received", tag), "what was dropped must not come again"


def push(server: RedisServer, queue: str, body: str) -> None:
    with server.client() as redis:
        redis.lpush(queue + BODIES, body)
        redis.lpush(queue, BELL)


def test_a_message_that_was_sent_twice_runs_once(peers: Peers, redis_server: RedisServer) -> None:
    queue = names.topic_queue(peers.exchange, peers.topic)
    client = peers.client()
    client.cast({}, "note", value="once")
    with redis_server.client() as redis:
        (body,) = redis.lrange(queue + BODIES, 0, -1)
    tag, again = "t" * TAG_LENGTH, json.loads(body[TAG_LENGTH:])
    again["properties"]["delivery_tag"] = tag
    push(redis_server, queue, tag + json.dumps(again))
    endpoint = peers.serve(pool=1)
    client.call({}, "echo", value=1)
    assert endpoint.seen == ["once"]


def test_a_cast_that_nobody_took_in_time_is_dropped(peers: Peers, redis_server: RedisServer) -> None:
    """Its queue lives on for later messages, and so the message itself carries the deadline."""
    queue = names.topic_queue(peers.exchange, peers.topic)
    client = peers.client()
    client.cast({}, "note", value="stale")
    with redis_server.client() as redis:
        body = redis.rpop(queue + BODIES)
        message = json.loads(body[TAG_LENGTH:])
        message["body"] = json.dumps({**json.loads(message["body"]), "expires_at": 1.0})
        redis.lpush(queue + BODIES, body[:TAG_LENGTH] + json.dumps(message))
    endpoint = peers.serve(pool=1)
    client.cast({}, "note", value="fresh")
    eventually(lambda: endpoint.seen, "the fresh cast ran")
    assert endpoint.seen == ["fresh"]


def test_a_message_whose_bell_was_lost_with_a_connection_is_found(peers: Peers, redis_server: RedisServer) -> None:
    queue = names.topic_queue(peers.exchange, peers.topic)
    peers.client().cast({}, "note", value="found")
    with redis_server.client() as redis:
        assert redis.rpop(queue) is not None
    endpoint = peers.serve()
    eventually(lambda: endpoint.seen == ["found"], "the message was found without its bell")


def test_notifications_are_refused_in_a_sentence(peers: Peers) -> None:
    driver = peers.transport()._driver
    target = oslo_messaging.Target(topic="notifications")
    with pytest.raises(errors.NotificationsUnsupported, match="RPC only"):
        driver.send_notification(target, {}, {}, 2.0)
    with pytest.raises(NotImplementedError, match="RPC only"):
        driver.listen_for_notifications([(target, "info")], None, 1, None)


# --- users and addresses ----------------------------------------------------------------------------------


def test_the_bus_user_of_a_private_redis_may_do_all_that_is_needed(
    make_peers: Callable[..., Peers], make_redis: MakeRedis
) -> None:
    peers = make_peers(make_redis(users=BUS_USERS), BUS.name)
    endpoint = peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1
    eventually(lambda: told(client, endpoint), "a fan-out reaches the server")


def test_a_wrong_password_is_said_at_once_and_not_shown(
    make_peers: Callable[..., Peers], make_redis: MakeRedis, caplog: pytest.LogCaptureFixture
) -> None:
    redis = make_redis(users=BUS_USERS)
    peers = make_peers(redis, BUS.name)
    peers.url = peers.url.replace(redis.passwords.of(BUS.name), "guessed-password")
    with pytest.raises(rpc_client.ClientSendError, match="refused") as caught:
        peers.client().cast({}, "note", value=1)
    with pytest.raises(ServerListenError, match="refused"):
        peers.serve()
    assert "guessed-password" not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("gantt+redis://one:1,two:2/0", "several hosts"),
        ("gantt+redis:///zero", "not a number"),
        ("gantt+redis:///0?sockt=/x", "unknown parameter: sockt"),
        ("gantt+redis://host:1/0?socket=/x", "both a host and a socket"),
        ("gantt+redis:///0?socket=x", "not an absolute path"),
        ("gantt://host/0", r"write gantt\+redis"),
    ],
)
def test_an_address_that_is_none_is_refused_in_a_sentence(ending: Ending, url: str, why: str) -> None:
    with pytest.raises(BadConfiguration, match=f"transport_url.*{why}"):
        Peers(url, ending).transport()


def test_calls_work_by_tcp(make_peers: Callable[..., Peers], redis_server: RedisServer, ending: Ending) -> None:
    peers = Peers(f"gantt+redis://127.0.0.1:{redis_server.port}/0", ending, **QUICK)
    peers.serve()
    assert peers.client().call({}, "echo", value=1) == 1
    peers.close()


# --- green threads ----------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_the_protocol_holds_on_green_threads() -> None:
    """The transport suite once more, in a process whose threads are green."""
    suite = ["-q", "-p", "no:cacheprovider", "-k", "embedded", "tests/contract/test_transport.py"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.contract.green_pytest", *suite],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_green_and_real_threads_talk_to_each_other(peers: Peers, processes: Processes) -> None:
    green = processes.server(peers, "green", executor="eventlet")
    client = peers.client()
    assert client.call({}, "who") == "green"
    client.prepare(fanout=True).cast({}, "note", value=1)
    assert processes.said(green) == "note 1"
