# SPDX-License-Identifier: Apache-2.0
"""Timed calls of select_destinations by Nova's own client, on several message buses."""

import os
import time
import uuid
from collections.abc import Sequence
from typing import Any

os.environ["OS_NOVA_DISABLE_EVENTLET_PATCHING"] = "1"

import nova_request
import oslo_messaging as messaging
from nova import context, objects, rpc
from nova.conf import CONF
from nova.scheduler.client import query
from peer_wire import serve

FLAVOR = {"vcpus": 1, "memory_mb": 512, "root_gb": 1}


class NovaSchedulerClient:
    """Nova's client of the scheduler's topic on one bus."""

    def __init__(self) -> None:
        CONF([], project="nova", default_config_files=[])
        objects.register_all()
        self.query: Any = None

    def connect(self, url: str) -> None:
        rpc.set_defaults("nova")
        messaging.TransportURL.parse(CONF, url)  # registers the option
        CONF.set_override("transport_url", url)
        rpc.init(CONF)
        self.query = query.SchedulerQueryClient()


class BusClients:
    """Clients of several buses, by name."""

    def __init__(self) -> None:
        self._clients: dict[str, NovaSchedulerClient] = {}

    def connect(self, name: str, url: str) -> None:
        self._clients[name] = NovaSchedulerClient()
        self._clients[name].connect(url)

    def select(self, name: str) -> dict[str, Any]:
        """Select a host for a new server; return seconds, the server's uuid, hosts and the answer's primitives."""
        server = str(uuid.uuid4())
        image = objects.ImageMeta(properties=objects.ImageMetaProps())
        spec = nova_request.spec(nova_request.flavor(**FLAVOR), image, instance_uuid=server)
        ctxt = context.RequestContext(user_id="lab", project_id="lab")
        began = time.perf_counter()
        answer = self._clients[name].query.select_destinations(ctxt, spec, [server], True, True)
        seconds = time.perf_counter() - began
        (selections,) = answer
        if not all(isinstance(selection, objects.Selection) for selection in selections):
            raise TypeError(f"the answer has no Selection: {answer!r}")
        return {
            "seconds": seconds,
            "server": server,
            "hosts": [selection.service_host for selection in selections],
            "answer": [[selection.obj_to_primitive() for selection in selections]],
        }

    def sync(self, name: str, hosts: Sequence[str]) -> None:
        """Send the periodic report of empty computes twice, because Nova trusts its cache from the second on."""
        ctxt = context.get_admin_context()
        for _ in range(2):
            for host in hosts:
                self._clients[name].query.sync_instance_info(ctxt, host, [])


if __name__ == "__main__":
    selects = BusClients()
    serve({"connect": selects.connect, "select": selects.select, "sync": selects.sync})
