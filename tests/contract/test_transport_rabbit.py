# SPDX-License-Identifier: Apache-2.0
"""RabbitMQ drivers while the broker is unreachable, and after its return."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.servers.ports import free_port
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import conf as rpc_conf
from rpcapi import context, errors, objects
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.messaging import bus
from rpcapi.messaging.drivers import rabbit_connection
from tests.support.bus.bus_peer import Ending, Peers, eventually, in_thread

# Far above every time-out.
HANG_SECONDS = 60.0


def outcome(action: Callable[[], Any]) -> Any:
    """Return the result or the exception of the action; fail when it does not end."""
    results: list[Any] = []

    def act() -> None:
        try:
            results.append(action())
        except Exception as error:  # returned to the test
            results.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    assert results, f"the action did not end within {HANG_SECONDS:.0f} s"
    return results[0]


@pytest.fixture
def ending() -> Iterator[Ending]:
    cleanup = Ending()
    yield cleanup
    cleanup.finish()


@pytest.fixture
def unreachable(conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a transport to a port without a broker."""
    monkeypatch.setattr(rabbit_connection, "SEND_SECONDS", 2.0)
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 2.0, group="rpc")
    return bus.get_transport(conf, f"gantt-rabbit://user:s3cret@127.0.0.1:{free_port()}/vhost")


def test_without_a_broker_all_sends_raise_unavailable(unreachable: Any) -> None:
    compute, refs = ComputeAPI(unreachable.conf, unreachable), objects.ClaimRefs.of(consumers=[], attempts=[])
    for send in (
        lambda: ConductorAPI(unreachable.conf, unreachable).get_instances(context.new(), ["u"]),
        lambda: compute.terminate_instances(context.new(), "host1", refs),
        lambda: compute.audit(context.new(), "cell1", 7),
        lambda: bus.connect(unreachable),
    ):
        error = outcome(send)
        assert isinstance(error, errors.Unavailable), repr(error)
        assert "refused" in str(error).lower()
        assert "s3cret" not in str(error)
    outcome(unreachable.cleanup)


def test_without_a_broker_all_of_many_callers_get_unavailable(unreachable: Any) -> None:
    conductor = ConductorAPI(unreachable.conf, unreachable)
    raised_errors: list[Exception] = []

    def ask() -> None:
        raised_errors.append(outcome(lambda: conductor.get_instances(context.new().with_timeout(1), ["u"])))

    threads = [in_thread(ask) for _ in range(unreachable.conf.oslo_messaging_rabbit.rpc_conn_pool_size + 4)]
    for thread in threads:
        thread.join()
    assert [type(error) for error in raised_errors] == [errors.Unavailable] * len(threads)


# Two starts of a broker take seconds, on a busy machine half a minute.
@pytest.mark.timeout(300)
def test_client_and_server_recover_after_a_broker_restart(
    make_rabbit: Callable[[], RabbitNode], ending: Ending
) -> None:
    """Without new clients or servers, calls, calls to a server and fan-outs work again."""
    node = make_rabbit()
    peers = Peers(node.url(), ending)
    bus.connect(peers.transport())
    endpoint = peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1

    node.kill()
    unsent = oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure
    assert isinstance(outcome(lambda: client.prepare(timeout=2).call({}, "echo", value=2)), unsent)
    assert isinstance(outcome(lambda: client.cast({}, "note", value="unsent")), unsent)
    node.start()

    def answered() -> bool:
        try:
            return bool(client.prepare(timeout=2).call({}, "echo", value=True))
        except unsent:
            return False

    def fanout_arrived() -> bool:
        client.prepare(fanout=True).cast({}, "note", value="again")
        return "again" in endpoint.notes

    eventually(answered, "calls are answered again")
    assert client.prepare(server="s1").call({}, "who") == "s1"
    eventually(fanout_arrived, "fan-outs reach the server again")
    peers.close()


@pytest.mark.timeout(300)
def test_server_with_an_unsent_answer_stops_while_the_broker_is_away(
    make_rabbit: Callable[[], RabbitNode], ending: Ending
) -> None:
    node = make_rabbit()
    peers = Peers(node.url(), ending)
    endpoint = peers.serve()
    caller = in_thread(lambda: outcome(lambda: peers.client(timeout=5).call({}, "hold")))
    assert endpoint.entered.wait(20)
    node.kill()
    endpoint.gate.set()

    outcome(endpoint.server.stop)
    outcome(endpoint.server.wait)
    caller.join()
    peers.close()
