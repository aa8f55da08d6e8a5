# SPDX-License-Identifier: Apache-2.0
"""Floor of a scheduler's cost: a bare RPC server with one fixed answer to every select_destinations."""

from typing import Any

import oslo_messaging as messaging

from devstack.lab.worker_processes import PipeEnd
from rpcapi.messaging import foreign_bus

EXCHANGE, TOPIC, VERSION = "nova", "scheduler", "4.5"
THREADS = 4


class EchoScheduler:
    """Endpoint that answers every request with the same serialized selections."""

    target = messaging.Target(version=VERSION)

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    @messaging.expose
    def select_destinations(self, ctxt: dict[str, Any], **arguments: Any) -> Any:
        return self._answer


def serve(url: str, answer: Any, pipe: PipeEnd, index: int) -> None:
    transport = foreign_bus.get_transport(url, EXCHANGE, threads=THREADS)
    target = messaging.Target(topic=TOPIC, server="echo")
    messaging.get_rpc_server(transport, target, [EchoScheduler(answer)], executor="threading").start()
    pipe.send(None)
    pipe.poll(None)
