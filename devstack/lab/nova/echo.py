# SPDX-License-Identifier: Apache-2.0
"""Floor of a scheduler's cost: a bare RPC server that answers select_destinations from a file.

``python -m devstack.lab.nova.echo URL_FILE ANSWER_FILE`` writes "ready" once it serves.
"""

import json
import sys
from pathlib import Path
from typing import Any

import oslo_messaging as messaging

from devstack.lab.interruption import serve_until_terminated
from rpcapi.messaging import foreign

EXCHANGE, TOPIC, VERSION = "nova", "scheduler", "4.5"
THREADS = 4
READY = "ready"


class EchoScheduler:
    """Endpoint that answers every request with the same primitives of Nova's selections."""

    target = messaging.Target(version=VERSION)

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    @messaging.expose
    def select_destinations(self, ctxt: dict[str, Any], **arguments: Any) -> Any:
        return self._answer


def main(url_file: str, answer_file: str) -> None:
    transport = foreign.get_transport(Path(url_file).read_text(), EXCHANGE, threads=THREADS)
    endpoint = EchoScheduler(json.loads(Path(answer_file).read_text()))
    target = messaging.Target(topic=TOPIC, server="echo")
    server = messaging.get_rpc_server(transport, target, [endpoint], executor="threading")
    serve_until_terminated(server, READY)
    transport.cleanup()


if __name__ == "__main__":
    main(*sys.argv[1:])
