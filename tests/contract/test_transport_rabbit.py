# SPDX-License-Identifier: Apache-2.0
"""What the defaults that we give oslo.messaging's RabbitMQ driver promise."""

from collections.abc import Callable

import oslo_messaging
import pytest

from devstack.servers.rabbitmq import RabbitNode
from tests.contract.bus_peer import Ending, Peers, eventually


# Two boots of a broker take seconds, on a busy machine half a minute.
@pytest.mark.timeout(300)
def test_all_recovers_when_the_broker_was_killed_and_returns(make_rabbit: Callable[[], RabbitNode]) -> None:
    """Neither client nor server is made anew: calls, directed calls and fan-outs work as before."""
    node = make_rabbit()
    ending = Ending()
    peers = Peers(node.url(), ending)
    endpoint = peers.serve()
    client = peers.client()
    assert client.call({}, "echo", value=1) == 1

    node.kill()
    with pytest.raises((oslo_messaging.MessagingTimeout, oslo_messaging.MessageDeliveryFailure)):
        client.prepare(timeout=1, retry=1).call({}, "echo", value=2)
    node.start()

    def answered() -> bool:
        try:
            return bool(client.prepare(timeout=2).call({}, "echo", value=True))
        except oslo_messaging.MessagingTimeout:
            return False

    def told() -> bool:
        client.prepare(fanout=True).cast({}, "note", value="again")
        return bool(endpoint.seen)

    eventually(answered, "calls are answered again")
    assert client.prepare(server="s1").call({}, "who") == "s1"
    eventually(told, "fan-outs reach the server again")
    peers.close()
    ending.finish()
