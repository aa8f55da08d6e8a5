# SPDX-License-Identifier: Apache-2.0
"""An agent's reporter and a scheduler worker: keys that no filter or weigher reads are neither sent nor logged."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.calls import ServiceCalls
from compute_agent.attempts.isolation import AuditDuty
from compute_agent.resources.nodes import Node, NodeShape
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.load import CPU_PERCENT, SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from compute_agent.stamps import StampFile
from rpcapi.resources.inventory import Inventory
from tests.support.scheduler.rack_worker import RackWorker

SHAPE = NodeShape("s", {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192)}, ("HW_CPU_X86_AVX2",))
NODES = tuple(Node(f"west/{number}", SHAPE, "zone1") for number in range(3))


class Agent:
    """The reporter of a service host with nodes that change at each interval; records the sent reports."""

    def __init__(self, worker):
        self._scheduler = worker.scheduler
        self.sent = []
        tracker = ResourceTracker(NODES)
        self.reporter = StatsReporter(
            SimpleNamespace(
                host="west", tracker=tracker, activity=NodeActivity(), refusal="", audit_duty=AuditDuty(60.0)
            ),
            partition="default",
            nodes=NODES,
            load=SimulatedLoad("west", NODES, tracker, lambda: HostProfile(churn=1.0)),
            scheduler=self,
            calls=ServiceCalls(10.0),
            check_folder=lambda: None,
            stamps=StampFile(Path("unused"), "p1"),
            identity=SimpleNamespace(is_served=True),
        )

    def update_resource_stats(self, ctxt, host, report):
        self.sent.append(report)
        return self._scheduler.update_resource_stats(ctxt, host, report)

    def report(self, times):
        """Report ``times`` times, and return the keys of the first node in each report."""
        begun = len(self.sent)
        for _ in range(times):
            self.reporter.report()
        return [sorted(report.nodes.get("west/0", {})) for report in self.sent[begun:]]


@pytest.fixture
def worker(tmp_path):
    schema = tmp_path / "rack.json"
    schema.write_text("{}")
    rack_worker = RackWorker(schema)
    rack_worker.service.start()
    yield rack_worker
    rack_worker.service.stop()
    rack_worker.service.wait()


def logged(worker, after):
    return [entry for entry in worker.store.follow(after, 0) if entry.kind == "provider"]


def test_unread_metrics_are_not_sent_and_not_logged(worker):
    agent = Agent(worker)
    assert agent.report(2) == [["availability_zone", "inventories", "metrics", "traits"], ["metrics"]]
    assert agent.sent[-1].nodes["west/0"] == {"metrics": {}}, "metrics sent before the read keys were known are removed"
    position = worker.store.state.position
    assert agent.report(5) == [[]] * 5, "each report is only a heartbeat"
    assert logged(worker, position) == []


def test_metric_enabled_by_reload_is_sent_logged_and_used(worker):
    agent = Agent(worker)
    agent.report(2)
    worker.conf.set_override("weight_setting", [f"{CPU_PERCENT}=-1.0"], group="metrics")
    worker.conf.set_override("enabled_filters", ["ComputeFilter", "MetricsFilter"], group="filter_scheduler")
    worker.conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    worker.service.reset()
    agent.report(1)  # gets the read keys
    position = worker.store.state.position
    assert agent.report(2) == [["metrics"]] * 2
    entries = logged(worker, position)
    assert len(entries) == 2
    assert set(entries[-1].payload["west/0"]["metrics"]) == {CPU_PERCENT}
    worker.audit("west")
    figures = {name: provider["metrics"][CPU_PERCENT] for name, provider in entries[-1].payload.items()}
    assert worker.select(VCPU=1) == min(figures, key=figures.__getitem__)
