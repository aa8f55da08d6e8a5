# SPDX-License-Identifier: Apache-2.0
"""Cost of an agent's report in the store: a log entry if something changed, else only a heartbeat."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from compute_agent.attempt import Attempt, Stage
from compute_agent.attempts.activity import NodeActivity
from compute_agent.attempts.calls import ServiceCalls
from compute_agent.attempts.isolation import AuditDuty
from compute_agent.resources.nodes import Node, NodeShape
from compute_agent.resources.tracker import ResourceTracker
from compute_agent.runtime.reporter import StatsReporter
from compute_agent.simulator.load import SimulatedLoad
from compute_agent.simulator.profile import HostProfile
from compute_agent.stamps import StampFile
from devstack.servers.redis import RedisServer
from rpcapi import objects
from rpcapi.resources.inventory import Inventory
from scheduler_svc.host_state.reports import check_nodes
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.redis import RedisStore
from tests.support.store.store_partition import poll

HOST = "alpha"
SHAPE = NodeShape("test", {"VCPU": Inventory(8), "MEMORY_MB": Inventory(8192, reserved=512)}, ("HW_CPU_X86_AVX2",))
NODES = tuple(Node(f"{HOST}/node{number}", SHAPE, "az1") for number in range(5))


class DirectScheduler:
    """A scheduler without a bus: it validates a report and passes it to the store."""

    def __init__(self, store: RedisStore) -> None:
        self.store = store
        self.required_keys: list[str] | None = None

    def update_resource_stats(self, ctxt: Any, host: str, stats: objects.StatsReport) -> objects.StatsAnswer:
        outcome = self.store.update_stats(
            host,
            HostReport(
                incarnation=stats.incarnation,
                sequence=stats.sequence,
                base=stats.base,
                full=stats.full,
                nodes=check_nodes(host, stats.nodes, stats.full),
                register=stats.register,
                agent=stats.agent,
            ),
        )
        return objects.StatsAnswer.of(
            sequence=stats.sequence,
            need_full=outcome.need_full,
            epoch=outcome.epoch,
            required_keys=self.required_keys,
            incarnation=outcome.incarnation,
            superseded=outcome.superseded,
        )


class ReportingAgent:
    """One host's reporter with a partition of its own."""

    def __init__(self, server: RedisServer) -> None:
        self.store = RedisStore(server.url(), uuid.uuid4().hex[:12])
        self.scheduler: Any = DirectScheduler(self.store)
        self.profile = HostProfile()
        self.tracker = ResourceTracker(NODES)
        identity: Any = SimpleNamespace(is_served=True)
        guest_manager: Any = SimpleNamespace(
            host=HOST, tracker=self.tracker, activity=NodeActivity(), refusal="", audit_duty=AuditDuty(60.0)
        )
        self.reporter = StatsReporter(
            guest_manager,
            partition="p1",
            nodes=NODES,
            load=SimulatedLoad(HOST, NODES, self.tracker, lambda: self.profile),
            scheduler=self.scheduler,
            calls=ServiceCalls(5.0),
            check_folder=lambda: None,
            stamps=StampFile(Path("unused"), "p1"),
            identity=identity,
        )

    def report_and_read_log(self, reports: int) -> list[tuple[str, int]]:
        """Send reports and return (kind, number of items) of the new log entries."""
        start = self.store.snapshot().position
        for _ in range(reports):
            self.reporter.report()
        entries = self.store.follow(start, 0)
        assert entries is not None
        return [(entry.kind, len(entry.payload)) for entry in entries]

    def last_report_ms(self) -> int:
        return int(self.store.get_state("service", HOST)[1]["last_report_ms"])


@pytest.fixture
def agent(redis_server: RedisServer) -> Iterator[ReportingAgent]:
    reporting_agent = ReportingAgent(redis_server)
    reporting_agent.reporter.report()
    yield reporting_agent
    reporting_agent.store.close()


def test_reports_without_changes_write_no_log_entries(agent: ReportingAgent) -> None:
    before = agent.last_report_ms()
    assert agent.report_and_read_log(reports=3) == []

    def was_received() -> bool:
        agent.reporter.report()
        return agent.last_report_ms() > before

    poll(was_received)


def test_report_with_changes_writes_one_entry_with_the_changes(agent: ReportingAgent) -> None:
    node = NODES[3].name
    attempt = Attempt("a", 1, Stage.SPAWNED, 0, name=node, allocations={node: {"VCPU": 1}})
    agent.tracker.hold(attempt)
    assert agent.report_and_read_log(reports=3) == [("provider", 1)]
    agent.tracker.reserve(NODES[1].name, "MEMORY_MB", 1024)
    agent.tracker.drop(attempt.ref)
    assert agent.report_and_read_log(reports=3) == [("provider", 2)]


def test_changes_of_unread_fields_write_no_log_entries(agent: ReportingAgent) -> None:
    # given a scheduler that reads no metric, and an agent that knows it
    agent.scheduler.required_keys = ["inventories"]
    agent.reporter.report()
    agent.reporter.report()
    # when all nodes change with every report
    agent.profile = HostProfile(churn=1.0)
    assert agent.report_and_read_log(reports=3) == []
    # then a scheduler that reads them gets every change
    agent.scheduler.required_keys = None
    agent.reporter.report()
    assert agent.report_and_read_log(reports=3) == [("provider", 5)] * 3
