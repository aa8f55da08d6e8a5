# SPDX-License-Identifier: Apache-2.0
"""The message protocol, one suite on every transport: oslo.messaging's fake, the embedded bus, RabbitMQ."""

import threading

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging.rpc import client as rpc_client

from rpcapi import errors
from tests.contract.bus_peer import Peers, eventually


def test_a_call_returns_what_the_method_returned(peers: Peers) -> None:
    peers.serve()
    value = {"list": [1, 2.5, None, True], "text": "größer", "nested": {"a": {"b": []}}}
    assert peers.client().call({}, "echo", value=value) == value


def test_an_empty_answer_is_none(peers: Peers) -> None:
    peers.serve()
    assert peers.client().call({}, "echo", value=None) is None


def test_the_context_arrives(peers: Peers) -> None:
    peers.serve()
    ctxt = {"request_id": "req-1", "project_id": "p", "deadline": 12.5}
    arrived = peers.client().call(ctxt, "context")
    assert {key: arrived[key] for key in ctxt} == ctxt


def test_a_call_works_on_a_private_configuration(peers: Peers) -> None:
    """oslo.messaging silently drops every message when its tracing options are on the global conf only."""
    transport = peers.transport()
    assert transport.conf is not cfg.CONF
    peers.serve(transport=transport)
    assert peers.client(transport=transport).call({}, "echo", value=1) == 1


def test_a_cast_runs_once(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client()
    client.cast({}, "note", value=7)
    eventually(lambda: endpoint.seen, "the cast ran")
    # Whatever a second delivery would be, it would have come before the answer to this later call.
    client.call({}, "echo", value=0)
    assert endpoint.seen == [7]


def test_casts_of_one_sender_run_in_order_on_a_server_with_one_thread(peers: Peers) -> None:
    endpoint = peers.serve(pool=1)
    client = peers.client()
    for number in range(50):
        client.cast({}, "note", value=number)
    eventually(lambda: len(endpoint.seen) == 50, "all casts ran")
    assert endpoint.seen == list(range(50))


def test_each_of_many_casts_runs_on_one_of_the_servers(peers: Peers) -> None:
    endpoints = [peers.serve("s1"), peers.serve("s2")]
    client = peers.client()
    for number in range(100):
        client.cast({}, "note", value=number)
    eventually(lambda: sum(len(each.seen) for each in endpoints) >= 100, "all casts ran")
    assert sorted(endpoints[0].seen + endpoints[1].seen) == list(range(100))


def test_a_fanout_reaches_every_server_of_the_topic(peers: Peers) -> None:
    endpoints = [peers.serve("s1"), peers.serve("s2"), peers.serve("s3")]
    peers.client().prepare(fanout=True).cast({}, "note", value="all")
    eventually(lambda: all(each.seen for each in endpoints), "all servers were told")
    assert [each.seen for each in endpoints] == [["all"]] * 3


def test_a_directed_call_reaches_the_named_server(peers: Peers) -> None:
    for name in ("s1", "s2", "s3"):
        peers.serve(name)
    client = peers.client()
    for name in ("s2", "s3", "s1", "s2"):
        assert client.prepare(server=name).call({}, "who") == name


def test_many_calls_at_once_each_get_their_own_answer(peers: Peers) -> None:
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


def test_one_transport_serves_and_calls_at_once(peers: Peers) -> None:
    transport = peers.transport()
    peers.serve("s1", transport=transport)
    peers.serve("s2", transport=transport)
    client = peers.client(transport=transport)
    assert client.prepare(server="s1").call({}, "who") == "s1"
    assert client.prepare(server="s2").call({}, "who") == "s2"


def test_an_error_of_ours_arrives_typed(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(errors.UnknownFlavor) as caught:
        peers.client().call({}, "refuse", name="m9.vast")
    assert caught.value.kwargs["name"] == "m9.vast"


def test_a_surprise_arrives_as_an_error_and_the_server_goes_on(peers: Peers) -> None:
    peers.serve()
    client = peers.client()
    with pytest.raises((oslo_messaging.RemoteError, LookupError), match="a surprise"):
        client.call({}, "crash")
    assert client.call({}, "echo", value=1) == 1


def test_an_unknown_method_is_refused_by_name(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.NoSuchMethod, match="does_not_exist"):
        peers.client().call({}, "does_not_exist")


@pytest.mark.parametrize("method", ["unmarked", "_private", "seen", "__init__"])
def test_what_is_not_exposed_does_not_exist_for_a_peer(peers: Peers, method: str) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.NoSuchMethod, match=method):
        peers.client().call({}, method)


def test_a_newer_version_than_served_is_refused(peers: Peers) -> None:
    peers.serve()
    with pytest.raises(oslo_messaging.UnsupportedVersion, match=r"1\.9"):
        peers.client().prepare(version="1.9").call({}, "echo", value=1)


def test_a_wrong_argument_is_refused_and_the_server_goes_on(peers: Peers) -> None:
    peers.serve()
    client = peers.client()
    with pytest.raises((oslo_messaging.RemoteError, TypeError), match="colour"):
        client.call({}, "echo", colour="red")
    assert client.call({}, "echo", value=1) == 1


def test_a_version_cap_stops_a_newer_call_at_the_sender(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client(version_cap="1.0")
    assert client.can_send_version("1.0")
    assert not client.can_send_version("1.1")
    with pytest.raises(rpc_client.RPCVersionCapError):
        client.prepare(version="1.1").call({}, "note", value=1)
    assert endpoint.seen == []


def test_a_call_that_is_not_answered_in_time_ends(peers: Peers) -> None:
    endpoint = peers.serve()
    with pytest.raises(oslo_messaging.MessagingTimeout):
        peers.client(timeout=1).call({}, "hold")
    assert endpoint.entered.is_set()
    endpoint.gate.set()


def test_a_call_to_nobody_ends(peers: Peers) -> None:
    # A client of RabbitMQ learns that no queue is there only by waiting, as on the others.
    with pytest.raises(oslo_messaging.MessagingTimeout):
        peers.client(timeout=1).call({}, "echo", value=1)


def test_a_late_answer_is_not_taken_for_that_of_another_call(peers: Peers) -> None:
    endpoint = peers.serve()
    client = peers.client()
    with pytest.raises(oslo_messaging.MessagingTimeout):
        client.prepare(timeout=1).call({}, "hold")
    endpoint.gate.set()
    assert [client.call({}, "echo", value=number) for number in range(5)] == list(range(5))


def test_heartbeats_keep_a_long_call_alive(peers: Peers) -> None:
    """The method runs longer than the monitor's timeout, and its answer still comes."""
    endpoint = peers.serve()
    release = threading.Timer(3.5, endpoint.gate.set)
    release.start()
    assert peers.client(timeout=20, call_monitor_timeout=2).call({}, "hold") == "s1"
    release.join()


def test_a_stopped_server_finishes_what_it_began(peers: Peers) -> None:
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


def test_what_a_stopped_server_did_not_take_goes_to_the_next(peers: Peers) -> None:
    first = peers.serve("s1")
    client = peers.client()
    client.call({}, "echo", value=1)
    first.server.stop()
    first.server.wait()
    client.cast({}, "note", value="kept")
    second = peers.serve("s2")
    eventually(lambda: second.seen, "the next server ran the cast")
    assert first.seen == []
    assert second.seen == ["kept"]
