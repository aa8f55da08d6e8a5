# SPDX-License-Identifier: Apache-2.0
"""Heartbeat, metrics and purge: a failure of one does not stop the others."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import oslo_messaging as messaging
import prometheus_client

from conductor.collaborators import ServiceClients
from conductor.maintenance import MaintenanceLoop
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import SagaStep, StoreTimeouts
from rpcapi import errors
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import request
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.polling import until


def clients_of(scheduler: Any) -> ServiceClients:
    other: Any = None
    return ServiceClients(scheduler, other, other, "p1")


def instances(status: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value("gantt_conductor_instances", {"status": status})


def test_all_tasks_run_while_scheduler_is_unavailable() -> None:
    heartbeats: list[tuple[str, str]] = []

    def report_service(ctxt: object, binary: str, host: str, versions: object, partition: str) -> None:
        assert (versions, partition) == ({"conductor": ConductorAPI.VERSION}, "p1")
        heartbeats.append((binary, host))
        raise messaging.MessagingTimeout("no answer")

    store = MemoryConductorStore(StoreTimeouts(retention_ms=0))
    store.record(request(), ["a", "b"])
    store.write_without_lease(
        [replace(store.get(["a"])["a"], status=InstanceStatus.DELETED, step=SagaStep.DONE)], wake=False
    )
    scheduler = SimpleNamespace(report_service=report_service, exchange_stamps=lambda ctxt, stamps: {"p1": "1.1.x"})
    maintenance = MaintenanceLoop(make_conductor(store, clients_of(scheduler)), "c1", 0.01)
    maintenance.start()
    until(lambda: len(heartbeats) > 2 and not store.get(["a"]), "heartbeats are sent and the deleted record is removed")
    until(lambda: instances("DELETED") == 0, "the figures follow")
    assert instances("SCHEDULING") == 1
    figure = prometheus_client.REGISTRY.get_sample_value
    assert figure("gantt_conductor_records_entries", {"collection": "records"}) == 1
    assert heartbeats[0] == ("gantt-conductor", "c1")
    assert store.stamps() == {"p1": "1.1.x"}
    maintenance.stop()
    maintenance.wait()


def test_failed_heartbeat_is_retried_soon() -> None:
    answers = iter(
        [messaging.MessagingTimeout("no answer"), errors.NotReady(what="worker", why="it loads"), None, None]
    )

    def report_service(ctxt: object, binary: str, host: str, versions: object, partition: object) -> None:
        failure = next(answers)
        if failure is not None:
            raise failure

    scheduler = SimpleNamespace(report_service=report_service, exchange_stamps=lambda ctxt, stamps: {})
    store = MemoryConductorStore(StoreTimeouts())
    maintenance = MaintenanceLoop(make_conductor(store, clients_of(scheduler)), "c1", 600.0)
    pauses = [maintenance.run_once() for _ in range(4)]
    assert [seconds <= 1 for seconds in pauses] == [True, True, False, False]
    assert min(pauses[2:]) >= 480
