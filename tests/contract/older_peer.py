# SPDX-License-Identifier: Apache-2.0
"""A scheduler and an agent of the previous release, with RequestSpec 1.0: `python -m tests.contract.older_peer URL`.

It prints "ready" when it serves, and serves until its standard input is closed.
"""

import sys
import types


def install_older_request_spec() -> None:
    """Replace RequestSpec by its older version before anything imports it."""
    from oslo_versionedobjects import fields as kinds  # noqa: PLC0415 - the order matters

    # rpcapi.objects imports its modules in order; it finds this one in sys.modules.
    module = types.ModuleType("rpcapi.objects.request_spec")
    package = types.ModuleType("rpcapi.objects")
    import rpcapi  # noqa: PLC0415

    package.__path__ = [f"{rpcapi.__path__[0]}/objects"]
    sys.modules["rpcapi.objects"] = package
    from rpcapi.objects import base  # noqa: PLC0415

    @base.GanttObjectRegistry.register
    class RequestSpec(base.GanttObject):
        """RequestSpec 1.0, without the server group."""

        VERSION = "1.0"
        fields = {  # noqa: RUF012 - oslo.versionedobjects reads the class attribute
            "flavor": kinds.StringField(nullable=True, default=None),
            "resources": base.AmountsField(),
            "required_traits": base.ColumnField(str, default=[]),
            "forbidden_traits": base.ColumnField(str, default=[]),
            "availability_zone": kinds.StringField(nullable=True, default=None),
            "ignore_hosts": base.ColumnField(str, default=[]),
            "force_hosts": base.ColumnField(str, default=[]),
            "hints": base.JsonField(default={}),
            "consumer_type": kinds.StringField(default="INSTANCE"),
        }

    module.RequestSpec = RequestSpec  # type: ignore[attr-defined]
    del sys.modules["rpcapi.objects"]
    sys.modules["rpcapi.objects.request_spec"] = module


def main() -> None:
    """Serve topics ``scheduler`` and ``compute`` at 1.0 until standard input closes."""
    install_older_request_spec()

    import oslo_messaging as messaging  # noqa: PLC0415 - after the replacement
    from oslo_config import cfg  # noqa: PLC0415

    from rpcapi import conf as rpc_conf  # noqa: PLC0415
    from rpcapi import objects  # noqa: PLC0415
    from rpcapi.clients.conductor import ConductorAPI  # noqa: PLC0415
    from rpcapi.endpoint import expose  # noqa: PLC0415
    from rpcapi.messaging import bus  # noqa: PLC0415
    from rpcapi.serializer import GanttSerializer  # noqa: PLC0415

    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 10.0, group="rpc")
    transport = bus.get_transport(conf, sys.argv[1])
    received: list[dict] = []

    class Endpoint:
        target = messaging.Target(version="1.0")

        @expose
        def select_destinations(
            self, ctxt: object, spec: objects.RequestSpec, uuids: list, attempt: int, alternates: int
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
