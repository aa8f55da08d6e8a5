# SPDX-License-Identifier: Apache-2.0
"""Signs of life, figures, and forgetting: none may keep the others from being done."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import oslo_messaging as messaging
import prometheus_client

from conductor.store.memory import MemoryStore
from conductor.store.records import Status, Step, Terms
from conductor.upkeep import Upkeep
from tests.unit.conductor.polling import until
from tests.unit.conductor.store.conftest import request


def instances(status: str) -> float | None:
    return prometheus_client.REGISTRY.get_sample_value("gantt_instances", {"status": status})


def test_all_of_it_is_done_though_the_scheduler_is_away() -> None:
    told: list[tuple[str, str]] = []

    def report_service(ctxt: object, binary: str, host: str) -> None:
        told.append((binary, host))
        raise messaging.MessagingTimeout("no answer")

    store = MemoryStore(Terms(retention_ms=0))
    store.record(request(), ["a", "b"])
    store.note([replace(store.get(["a"])["a"], status=Status.DELETED, step=Step.DONE)], wake=False)
    stopping = threading.Event()
    scheduler = SimpleNamespace(report_service=report_service)
    upkeep = Upkeep(store, scheduler, "c1", 0.01, stopping)  # type: ignore[arg-type]
    upkeep.start()
    until(lambda: len(told) > 2 and not store.get(["a"]), "it was told and the deleted is forgotten")
    until(lambda: instances("DELETED") == 0, "the figures follow")
    assert instances("SCHEDULING") == 1
    assert told[0] == ("gantt-conductor", "c1")
    stopping.set()
    upkeep.wait()
