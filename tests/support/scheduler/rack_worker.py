# SPDX-License-Identifier: Apache-2.0
"""A worker of a deployment with its own namespace, in this process, on the fake transport."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oslo_config import cfg

from rpcapi import context, objects
from rpcapi.clients import claims, scheduler
from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import namespaces
from scheduler_svc.notifications import changes
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import SMALL_REQUEST, node


class RackWorker:
    """A worker with the plugin, its store, and a client."""

    def __init__(self, schema: Path) -> None:
        self.conf = cfg.ConfigOpts()
        self.conf([], project="gantt", default_config_files=[], default_config_dirs=[])
        scheduler_conf.register_opts(self.conf)
        bus.set_defaults(self.conf)
        self.conf.set_override("transport_url", "fake://")
        self.conf.set_override("control_exchange", "reads")
        self.conf.set_override("namespaces", ["rack"], group="scheduler")
        self.conf.register_opts(namespaces.OPTS, group="namespace:rack")
        # Without weighers that require keys which these tests do not report.
        self.conf.set_override("enabled_weighers", ["FreeShareWeigher"], group="filter_scheduler")
        self.conf.set_override("writer", "rackd", group="namespace:rack")
        self.conf.set_override("schema", str(schema), group="namespace:rack")
        self.store = MemoryStore(
            "default", namespaces=(*namespaces.load(self.conf).stored_names, changes.LEASE_NAMESPACE)
        )
        self.service = SchedulerService(self.conf, 0, lambda partition: self.store)
        transport = bus.get_transport(self.conf)
        self.scheduler = scheduler.SchedulerAPI(self.conf, transport)
        self.claims = claims.ClaimsAPI(self.conf, transport, "default")

    def report(self, host: str, names: Iterable[str], sequence: int = 1, **keys: Any) -> objects.StatsAnswer:
        nodes = {name: node(**keys) for name in names}
        report = objects.StatsReport.of(
            incarnation=0, register=True, agent="a", sequence=sequence, full=True, nodes=nodes
        )
        return self.scheduler.update_resource_stats(context.new(), host, report)

    def join(self, host: str, names: Iterable[str]) -> None:
        self.report(host, names)
        self.audit(host)

    def audit(self, host: str) -> None:
        """Open a host on which nothing runs."""
        empty: dict[str, list[Any]] = {
            key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")
        }
        report = objects.AuditReport.of(host=host, epoch=self.store.state.epoch, **empty)
        self.claims.audit_host(context.new(), report)

    def publish(self, name: str, version: int = 0, **document: Any) -> objects.HostState:
        state = objects.HostState.of(namespace="rack", name=name, version=version, document=document)
        return self.scheduler.update_host_state(context.new(), state, "rackd")

    def caught_up(self) -> None:
        assert self.service._worker.scheduling.partitions.own.replica.reach(self.store.state.position, 10)  # type: ignore[union-attr]

    def select(self, **resources: int) -> str:
        self.caught_up()
        spec = objects.RequestSpec.of(resources=resources or SMALL_REQUEST)
        uuid = context.new().request_id.removeprefix("req-")
        return self.scheduler.select_destinations(context.new(), spec, [uuid]).host(0)

    def enable(self, *filters: str) -> None:
        self.conf.set_override("enabled_filters", ["ComputeFilter", *filters], group="filter_scheduler")
