# SPDX-License-Identifier: Apache-2.0
"""RPC over every transport: oslo.messaging's fake, the embedded bus, RabbitMQ."""

import threading

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.rpc import client as rpc_client

from rpcapi import errors
from tests.support.bus.bus_peer import Peers, eventually


def test_call_returns_the_result_of_the_method(peers: Peers) -> None:
    peers.serve()
    value = {"list": [1, 2.5, None, True], "text": "größer", "nested": {"a": {"b": []}}}
    assert peers.client().call({}, "echo", value=value) == value


def test_none_is_returned(peers: Peers) -> None:
    peers.serve()
    assert peers.client().call({}, "echo", value=None) is None


def test_context_is_received(peers: Peers) -> None:
    peers.serve()
    ctxt = {"request_id": "req-1", "project_id": "p", "deadline": 12.5}
    received = peers.client().call(ctxt, "context")
    assert {key: received[key] for key in ctxt} == ctxt


def test_call_works_with_a_private_configuration(peers: Peers) -> None:
    """oslo.messaging silently drops all messages when its tracing options are only on the global conf."""
    transport = peers.transport()
    assert transport.conf is not cfg.CONF
    peers.serve(transport=transport)
    assert peers.client(transport=transport).call({}, "echo", value=1) == 1


def test_cast_runs_once(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client()
    client.cast({}, "note", value=7)
    eventually(lambda: endpoint.notes, "the cast ran")
    # A second delivery would arrive before the answer to this later call.
    client.call({}, "echo", value=0)
    assert endpoint.notes == [7]


def test_casts_of_one_sender_run_in_order_on_a_server_with_one_thread(peers: Peers) -> None:
    endpoint = peers.serve(pool=1)
    client = peers.client()
    for number in range(50):
        client.cast({}, "note", value=number)
    eventually(lambda: len(endpoint.notes) == 50, "all casts ran")
    assert endpoint.notes == list(range(50))


def test_casts_are_distributed_over_the_servers(peers: Peers) -> None:
    endpoints = [peers.serve("s1"), peers.serve("s2")]
    client = peers.client()
    for number in range(100):
        client.cast({}, "note", value=number)
    eventually(lambda: sum(len(endpoint.notes) for endpoint in endpoints) >= 100, "all casts ran")
    assert sorted(endpoints[0].notes + endpoints[1].notes) == list(range(100))


def test_fanout_reaches_all_servers_of_the_topic(peers: Peers) -> None:
    endpoints = [peers.serve("s1"), peers.serve("s2"), peers.serve("s3")]
    peers.client().prepare(fanout=True).cast({}, "note", value="all")
    eventually(lambda: all(endpoint.notes for endpoint in endpoints), "all servers received it")
    assert [endpoint.notes for endpoint in endpoints] == [["all"]] * 3


def test_call_to_a_server_reaches_that_server(peers: Peers) -> None:
    for name in ("s1", "s2", "s3"):
        peers.serve(name)
    client = peers.client()
    for name in ("s2", "s3", "s1", "s2"):
        assert client.prepare(server=name).call({}, "who") == name


def test_concurrent_calls_get_their_own_answers(peers: Peers) -> None:
    peers.serve("s1")
    peers.serve("s2")
    client = peers.client()
    answers: dict[int, int] = {}

    def ask(first: int) -> None:
        for number in range(first, first + 20):
            answers[number] = client.call({}, "echo", value=number)

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(0, 160, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: number for number in range(160)}


def test_transport_can_serve_and_call(peers: Peers) -> None:
    transport = peers.transport()
    peers.serve("s1", transport=transport)
    peers.serve("s2", transport=transport)
    client = peers.client(transport=transport)
    assert client.prepare(server="s1").call({}, "who") == "s1"
    assert client.prepare(server="s2").call({}, "who") == "s2"


def test_gantt_error_is_raised_with_its_type(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(errors.UnknownFlavor) as caught:
        peers.client().call({}, "refuse", name="m9.vast")
    assert caught.value.kwargs["name"] == "m9.vast"


def test_unexpected_exception_is_returned_and_the_server_continues(peers: Peers) -> None:
    peers.serve()
    client = peers.client()
    with pytest.raises((oslo_messaging.RemoteError, LookupError), match="a surprise"):
        client.call({}, "crash")
    assert client.call({}, "echo", value=1) == 1


def test_unknown_method_is_refused(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.NoSuchMethod, match="does_not_exist"):
        peers.client().call({}, "does_not_exist")


@pytest.mark.parametrize("method", ["unmarked", "_private", "notes", "__init__"])
def test_method_that_is_not_exposed_is_refused(peers: Peers, method: str) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.NoSuchMethod, match=method):
        peers.client().call({}, method)


def test_newer_version_than_served_is_refused(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.UnsupportedVersion, match=r"1\.9"):
        peers.client().prepare(version="1.9").call({}, "echo", value=1)


def test_wrong_argument_is_refused_and_the_server_continues(peers: Peers) -> None:
    peers.serve()
    client = peers.client()
    with pytest.raises((oslo_messaging.RemoteError, TypeError), match="colour"):
        client.call({}, "echo", colour="red")
    assert client.call({}, "echo", value=1) == 1


def test_version_cap_refuses_a_newer_call_at_the_sender(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client(version_cap="1.0")
    assert client.can_send_version("1.0")
    assert not client.can_send_version("1.1")
    with pytest.raises(rpc_client.RPCVersionCapError):
        client.prepare(version="1.1").call({}, "note", value=1)
    assert endpoint.notes == []


def test_unanswered_call_times_out(peers: Peers) -> None:
    endpoint = peers.serve()
    with pytest.raises(oslo_messaging.MessagingTimeout):
        peers.client(timeout=1).call({}, "hold")
    assert endpoint.entered.is_set()
    endpoint.gate.set()


def test_call_without_a_server_times_out(peers: Peers) -> None:
    # A client of RabbitMQ does not learn that the queue is missing.
    with pytest.raises(oslo_messaging.MessagingTimeout):
        peers.client(timeout=1).call({}, "echo", value=1)


def test_late_answer_is_not_returned_to_another_call(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client()
    with pytest.raises(oslo_messaging.MessagingTimeout):
        client.prepare(timeout=1).call({}, "hold")
    endpoint.gate.set()
    assert [client.call({}, "echo", value=number) for number in range(5)] == list(range(5))


def test_heartbeats_keep_a_long_call_alive(peers: Peers) -> None:
    """The method runs longer than the monitor time-out and is still answered."""
    endpoint = peers.serve()
    release = threading.Timer(3.5, endpoint.gate.set)
    release.start()
    assert peers.client(timeout=20, call_monitor_timeout=2).call({}, "hold") == "s1"
    release.join()


def test_stopped_server_finishes_running_calls(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client()
    answers: list[str] = []
    caller = threading.Thread(target=lambda: answers.append(client.call({}, "hold")))
    caller.start()
    assert endpoint.entered.wait(10)
    endpoint.server.stop()
    endpoint.gate.set()
    endpoint.server.wait()
    caller.join(10)
    assert answers == ["s1"]


def test_message_not_received_by_a_stopped_server_goes_to_the_next(peers: Peers) -> None:
    first = peers.serve("s1")
    client = peers.client()
    client.call({}, "echo", value=1)
    first.server.stop()
    first.server.wait()
    client.cast({}, "note", value="kept")
    second = peers.serve("s2")
    eventually(lambda: second.notes, "the next server ran the cast")
    assert first.notes == []
    assert second.notes == ["kept"]
