# SPDX-License-Identifier: Apache-2.0
"""What RabbitMQ's drivers promise while the broker is away, and when it returns."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg

from devstack.servers.ports import free_port
from devstack.servers.rabbitmq import RabbitNode
from rpcapi import bus, context, errors, objects
from rpcapi import conf as rpc_conf
from rpcapi.compute import ComputeAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.drivers import bounded_rabbit
from rpcapi.probe import probe_bus
from tests.contract.bus_peer import Ending, Peers, eventually, in_thread

DRIVERS = ("gantt-rabbit", "rabbit")
# Far beyond every limit: what is still running then runs without one.
WITHOUT_END = 60.0


def outcome(action: Callable[[], Any]) -> Any:
    """What the action returned or raised; fails when it does not end."""
    ended: list[Any] = []

    def act() -> None:
        try:
            ended.append(action())
        except Exception as error:  # handed over, whatever it is
            ended.append(error)

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(WITHOUT_END)
    assert ended, f"It does not end, not in {WITHOUT_END:.0f} s"
    return ended[0]


@pytest.fixture
def ending() -> Iterator[Ending]:
    made = Ending()
    yield made
    made.finish()


@pytest.fixture(params=DRIVERS)
def nowhere(request: pytest.FixtureRequest, conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A transport to a port where no broker listens."""
    monkeypatch.setattr(bounded_rabbit, "SEND_SECONDS", 2.0)
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 2.0, group="rpc")
    return bus.get_transport(conf, f"{request.param}://user:s3cret@127.0.0.1:{free_port()}/vhost")


def test_without_a_broker_whatever_is_sent_ends_as_unavailable(nowhere: Any) -> None:
    compute, refs = ComputeAPI(nowhere.conf, nowhere), objects.ClaimRefs.of(consumers=[], attempts=[])
    for send in (
        lambda: ConductorAPI(nowhere.conf, nowhere).get_instances(context.new(), ["u"]),
        lambda: compute.terminate_instances(context.new(), "host1", refs),
        lambda: compute.audit(context.new(), "cell1", 7),
        lambda: probe_bus(nowhere, "conductor"),
    ):
        error = outcome(send)
        assert isinstance(error, errors.Unavailable), repr(error)
        assert "refused" in str(error).lower()
        assert "s3cret" not in str(error)
    outcome(nowhere.cleanup)


def test_without_a_broker_more_callers_than_connections_all_end(nowhere: Any) -> None:
    conductor = ConductorAPI(nowhere.conf, nowhere)
    errors_seen: list[Exception] = []

    def ask() -> None:
        errors_seen.append(outcome(lambda: conductor.get_instances(context.new().with_timeout(1), ["u"])))

    threads = [in_thread(ask) for _ in range(nowhere.conf.oslo_messaging_rabbit.rpc_conn_pool_size + 4)]
    for thread in threads:
        thread.join()
    assert [type(error) for error in errors_seen] == [errors.Unavailable] * len(threads)


# Two boots of a broker take seconds, on a busy machine half a minute.
@pytest.mark.timeout(300)
def test_all_recovers_when_the_broker_was_killed_and_returns(
    make_rabbit: Callable[[], RabbitNode], ending: Ending
) -> None:
    """Neither client nor server is made anew: calls, directed calls and fan-outs work as before."""
    node = make_rabbit()
    peers = Peers(node.url(), ending)
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

    def told() -> bool:
        client.prepare(fanout=True).cast({}, "note", value="again")
        return "again" in endpoint.seen

    eventually(answered, "calls are answered again")
    assert client.prepare(server="s1").call({}, "who") == "s1"
    eventually(told, "fan-outs reach the server again")
    peers.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("driver", DRIVERS)
def test_a_server_stops_while_the_broker_is_away_even_with_an_answer_in_its_hands(
    make_rabbit: Callable[[], RabbitNode], ending: Ending, driver: str
) -> None:
    node = make_rabbit()
    peers = Peers(node.url(driver=driver), ending)
    endpoint = peers.serve()
    caller = in_thread(lambda: outcome(lambda: peers.client(timeout=5).call({}, "hold")))
    assert endpoint.entered.wait(20)
    node.kill()
    endpoint.gate.set()

    outcome(endpoint.server.stop)
    outcome(endpoint.server.wait)
    caller.join()
    peers.close()
