# SPDX-License-Identifier: Apache-2.0
"""A scheduler worker in this process, on oslo.messaging's fake transport and memory stores."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from prometheus_client import REGISTRY

from rpcapi import context, objects
from rpcapi.clients import claims, scheduler
from rpcapi.context import RequestContext
from rpcapi.messaging import bus
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.core.records import LogEntry
from scheduler_svc.service import SchedulerService
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.hosts import SMALL_REQUEST, node


def configure(conf: cfg.ConfigOpts) -> cfg.ConfigOpts:
    scheduler_conf.register_opts(conf)
    bus.set_defaults(conf)
    conf.set_override("transport_url", "fake://")
    conf.set_override("call_timeout", 20.0, group="rpc")
    return conf


def new_conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[], default_config_dirs=[])
    return configure(conf)


def node_report() -> dict[str, Any]:
    """Return a node as an agent reports it: without the capacity, which the scheduler computes."""
    report = node()
    for inventory in report["inventories"].values():
        del inventory["capacity"]
    return report


def metric_value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"gantt_{name}", labels) or 0


class ShortPollStore(MemoryStore):
    """A store with a short blocking read, so that a worker stops without waiting for the next entry."""

    def follow(self, position: int, block_ms: int, limit: int = 1000) -> list[LogEntry] | None:
        return super().follow(position, min(block_ms, 20), limit)


NAMESPACES = ("aggregate", "flavor", "image", "compute_node", "nova_bridge", "server_group")


class FakeTransportWorker:
    """A worker, its stores, and its clients; ``options`` are those of [scheduler]."""

    def __init__(self, **options: Any) -> None:
        self.conf = new_conf()
        for name, value in options.items():
            self.conf.set_override(name, value, group="scheduler")
        self.stores = {
            name: ShortPollStore(
                name, namespaces=["aggregate", "flavor", "image", "compute_node", "nova_bridge", "server_group"]
            )
            for name in options.get("partitions", ["default"])
        }
        self.store = self.stores["default"]
        self.incarnations: dict[str, int] = {}
        self.host_uuid: str | None = None  # of the state folder of the agent that reports and audits
        self.service = SchedulerService(self.conf, 0, lambda partition: self.stores[partition])
        transport = bus.get_transport(self.conf)
        self.scheduler = scheduler.SchedulerAPI(self.conf, transport)
        self.claims = claims.ClaimsAPI(self.conf, transport, "default")

    def report(
        self,
        host: str,
        nodes: Mapping[str, Mapping[str, Any]],
        sequence: int = 1,
        base: int = 0,
        full: bool = True,
        **values: Any,
    ) -> objects.StatsAnswer:
        identity = {"incarnation": self.incarnations.get(host, 0), "register": full, "agent": "a"}
        stats = objects.StatsReport.of(sequence=sequence, base=base, full=full, nodes=nodes, **identity, **values)
        answer = self.scheduler.update_resource_stats(context.new(host_uuid=self.host_uuid), host, stats)
        self.incarnations[host] = answer.incarnation
        return answer

    def audit(self, host: str, epoch: int, **columns: Sequence[Any]) -> objects.AuditAnswer:
        empty: dict[str, Sequence[Any]] = {
            key: [] for key in ("consumers", "attempts", "states", "names", "allocations", "owners")
        }
        report = objects.AuditReport.of(host=host, epoch=epoch, **(empty | columns))
        return self.claims.audit_host(context.new(host_uuid=self.host_uuid), report)

    def join(self, host: str, nodes: Mapping[str, Mapping[str, Any]]) -> None:
        """Report and audit as an agent does at start, and wait until the worker has applied it."""
        answer = self.report(host, nodes)
        self.audit(host, answer.epoch)
        self.catch_up()

    def catch_up(self) -> None:
        """Wait until the worker has applied the log."""
        assert self.service._worker.scheduling.partitions.own.replica.reach(self.store.state.position, 10)  # type: ignore[union-attr]

    def select(
        self, count: int = 1, ctxt: RequestContext | None = None, uuids: list[str] | None = None, **spec: Any
    ) -> tuple[list[str], objects.Selections]:
        request_spec = objects.RequestSpec.of(**({"resources": SMALL_REQUEST} | spec))
        fresh = uuids is None
        uuids = uuids or [str(uuid.uuid4()) for _ in range(count)]
        ctxt = ctxt or context.new("p", "u")
        return uuids, self.scheduler.select_destinations(ctxt, request_spec, uuids, fresh=fresh)

    def refs(self, uuids: Sequence[str], attempt: int = 1) -> objects.ClaimRefs:
        return objects.ClaimRefs.of(consumers=uuids, attempts=[attempt] * len(uuids))
