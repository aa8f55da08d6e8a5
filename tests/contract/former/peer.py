# SPDX-License-Identifier: Apache-2.0
"""A peer of the former release, made from its recorded contract.

``python -m tests.contract.former.peer URL TOPIC=API...`` serves each topic with the methods, arguments and versions of
the contract, as server "former", and answers samples of its own objects. It prints "ready", and then one JSON line for
each line that it reads: a JSON object

- ``{"received": true}``: what was received since, as [method, {argument: version of its object, or null}];
- ``{"topic", "api", "method", "server"}``: call the method with samples, and show the answer's object version or the
  error.
"""

import json
import sys
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from rpcapi import conf as rpc_conf
from rpcapi import context, errors
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.endpoint import expose
from rpcapi.messaging import bus
from rpcapi.objects.base import GanttObject
from rpcapi.serializer import GanttSerializer
from tests.contract.former import contract

SERVER = "former"
CALL_SECONDS = 20.0
# Arguments that are objects, and plain ones with a type of their own; all others are texts.
OBJECTS = {
    "stats": "StatsReport",
    "requests": "SelectionRequests",
    "spec": "RequestSpec",
    "state": "HostState",
    "intents": "ClaimIntents",
    "refs": "ClaimRefs",
    "successors": "ClaimRefs",
    "report": "AuditReport",
    "request": "BuildRequest",
}
PLAIN: dict[str, Any] = {"uuids": ["u"], "limit": 1, "epoch": 1, "stamps": {}, "aggregates": [], "first_sent": 1.0}
# Their clients cast them, and wait for no answer.
CASTS = frozenset({("ComputeAPI", "build_instances"), ("ComputeAPI", "terminate_instances"), ("ComputeAPI", "audit")})


class Peer:
    """Serves and calls by the contract."""

    def __init__(self, url: str) -> None:
        self._primitives = contract.former_primitives()
        contract.install()
        self._conf = cfg.ConfigOpts()
        self._conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        rpc_conf.register_opts(self._conf)
        self._transport = bus.get_transport(self._conf, url)
        self._received: list[Any] = []

    def serve(self, topic: str, api: str) -> None:
        """Serve a topic as the former release does: it has newer arguments translated by a conductor."""
        backport = None if api == "ConductorAPI" else ConductorAPI(self._conf, self._transport).object_backport_versions
        target = messaging.Target(topic=topic, server=SERVER)
        bus.get_server(
            self._transport, target, [self._endpoint(api)], GanttSerializer(backport), executor="threading"
        ).start()

    def answer(self, command: dict[str, Any]) -> Any:
        """Execute a command."""
        if "received" in command:
            received, self._received = self._received, []
            return received
        try:
            return self._call(**command)
        except (errors.GanttError, messaging.MessagingException) as error:
            return {"error": type(error).__name__.removesuffix("_Remote"), "text": str(error)[:300]}

    def sample(self, name: str | None) -> Any:
        """Return an object of the former release, {} for a mapping, None for no answer."""
        if name not in self._primitives:
            return {} if name == "dict" else None
        return GanttObject.obj_from_primitive(json.loads(json.dumps(self._primitives[name])))

    def _endpoint(self, api: str) -> Any:
        service = contract.SERVICES[api]
        methods = {name: expose(self._method(name, method)) for name, method in service["methods"].items()}
        return type(api, (), {"target": messaging.Target(version=service["version"]), **methods})()

    def _method(self, name: str, method: dict[str, Any]) -> Any:
        def receive(_endpoint: Any, _ctxt: Any, **values: Any) -> Any:
            unknown = sorted(values.keys() - set(method["arguments"]))
            if unknown:
                raise errors.InvalidRequest(why=f"{name} of the former release has no {', '.join(unknown)}")
            versions = {key: getattr(value, "VERSION", None) for key, value in values.items()}
            self._received.append([name, versions])
            return self.sample(method["returns"])

        receive.__name__ = name
        return receive

    def _call(self, topic: str, api: str, method: str, server: str | None = None) -> Any:
        recorded = contract.SERVICES[api]["methods"][method]
        values = {name: self._argument(api, name) for name in recorded["arguments"]}
        target = messaging.Target(topic=topic, version="1.0", **({"server": server} if server else {}))
        client = bus.get_client(self._transport, target, serializer=GanttSerializer(), timeout=CALL_SECONDS)
        prepared, ctxt = client.prepare(version=recorded["version"]), context.new().with_timeout(CALL_SECONDS)
        if (api, method) in CASTS:
            return prepared.cast(ctxt, method, **values)
        answer = prepared.call(ctxt, method, **values)
        return {"version": getattr(answer, "VERSION", None)}

    def _argument(self, api: str, name: str) -> Any:
        if (api, name) == ("ConductorAPI", "report"):
            return self.sample("BuildReport")
        return self.sample(OBJECTS[name]) if name in OBJECTS else PLAIN.get(name, name)


def main() -> None:
    """Serve, and answer commands until standard input closes."""
    url, *services = sys.argv[1:]
    peer = Peer(url)
    for service in services:
        topic, _, api = service.partition("=")
        peer.serve(topic, api)
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(peer.answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
