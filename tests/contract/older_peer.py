# SPDX-License-Identifier: Apache-2.0
"""A scheduler and an agent of this release, for callers of a next one: `python -m tests.contract.older_peer URL`.

It prints "ready" when it serves, and serves until its standard input is closed.
"""

import sys

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi import objects
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.serializer import GanttSerializer


def main() -> None:
    """Serve topics ``scheduler`` and ``compute`` at 1.4 until standard input closes."""
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 10.0, group="rpc")
    transport = bus.get_transport(conf, sys.argv[1])
    received: list[dict] = []

    class Endpoint:
        target = messaging.Target(version="1.4")

        @expose
        def select_destinations(
            self,
            ctxt: object,
            spec: objects.RequestSpec,
            uuids: list,
            attempt: int,
            alternates: int,
            *,
            fresh: bool,
            moves: list,
        ) -> objects.Selections:
            received.append({"version": spec.VERSION, "fields": sorted(spec.fields), "resources": spec.resources})
            facts = {"partition": "then", "attempt": attempt, "deadline_ms": 1, "epoch": 1, "position": 1}
            return objects.Selections.build([f"spec-{spec.VERSION}"] * len(uuids), [[]] * len(uuids), **facts)

        @expose
        def build_instances(self, ctxt: object, request: objects.BuildRequest) -> None:
            received.append({"version": request.spec.VERSION, "uuids": request.uuids, "hints": request.spec.hints})

        @expose
        def get_host_state(self, ctxt: object, namespace: str, name: str) -> objects.HostState:
            return objects.HostState.of(namespace=namespace, name=name, version=1, document={"seen": received})

    serializer = GanttSerializer(ConductorAPI(conf, transport).object_backport_versions)
    endpoint = Endpoint()
    for topic in ("scheduler", "compute"):
        target = messaging.Target(topic=topic, server="older")
        bus.get_server(transport, target, [endpoint], serializer, executor="threading").start()
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
