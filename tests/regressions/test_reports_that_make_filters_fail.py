# SPDX-License-Identifier: Apache-2.0
"""What one host reports of itself stops the decisions about no other host.

At cec1a46b the fact `hypervisor_version: -1` made ImagePropertiesFilter loop for ever, and `supported_instances: 5`
made it raise, for every project and after the host was revoked, too.
"""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import REGISTRY

from rpcapi import context, objects
from scheduler_svc.core.filters import image_properties, set_aside
from scheduler_svc.core.filters.compute import REASON_DOWN
from scheduler_svc.core.namespaces import compute
from tests.support.scheduler.hosts import SMALL_REQUEST
from tests.support.scheduler.workers import FakeTransportWorker, metric_value, node_report

KVM = [["x86_64", "kvm", "hvm"]]
GOOD = {"hypervisor_version": 8_002_000, "supported_instances": KVM}
IMAGE = {"properties": {"hw_architecture": "x86_64", "img_hv_requested_version": ">=1.0"}}
CELL = {"id": 0, "path": "", "socket": 0, "cores": [[0]], "shared": "", "threads": 1, "pinned": "", "pages": {}}


@pytest.fixture
def worker() -> Iterator[FakeTransportWorker]:
    """A worker with two hosts that report valid facts."""
    worker = FakeTransportWorker()
    worker.service.start()
    for host in ("good1", "good2"):
        worker.join(host, {host: {**node_report(), "facts": GOOD}})
    yield worker
    worker.service.stop()
    worker.service.wait()


def join(worker: FakeTransportWorker, node: dict[str, Any]) -> objects.StatsAnswer:
    """Register host "bad" with this state of its node "bad/n", and audit it."""
    answer = worker.report("bad", {"bad/n": {**node_report(), **node}})
    worker.audit("bad", answer.epoch)
    worker.catch_up()
    return answer


def decide(worker: FakeTransportWorker) -> tuple[list[str], dict[str, int]]:
    """Return the candidates of a dry run with image properties, and the reasons of the others."""
    spec = objects.RequestSpec.of(resources=SMALL_REQUEST, image=IMAGE)
    document = worker.scheduler.dry_run(context.new("p", "u"), spec, 1).document
    return sorted(document["candidates"][0]), document["reasons"]


def failures() -> float:
    """Return how often ImagePropertiesFilter has failed in this process."""
    labels = {"kind": "filter", "name": image_properties.NAME}
    return REGISTRY.get_sample_value("gantt_scheduler_plugin_errors_total", labels) or 0.0


def store_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scheduler store all facts, as before there were checks, or as with an incomplete one."""
    monkeypatch.setattr(compute, "FACTS", dict.fromkeys(compute.FACTS, compute.ANY_FACT))


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("hypervisor_version", -1),
        ("hypervisor_version", 10**400),
        ("hypervisor_version", True),
        ("hypervisor_version", [1]),
        ("supported_instances", 5),
        ("supported_instances", [5]),
        ("supported_instances", [[{}]]),
        ("supported_instances", [["x86_64"]]),
        ("cpu_info", "text"),
        ("cpu_info", {"maxphysaddr": {"bits": "x"}}),
        ("hypervisor_type", {}),
        ("location", 7),
        ("rack", 10**400),
    ],
)
def test_fact_of_a_wrong_type_is_refused_and_the_rest_of_the_report_is_kept(
    worker: FakeTransportWorker, fact: str, value: Any
) -> None:
    before = metric_value("scheduler_refused_facts_total")
    answer = join(worker, {"facts": {**GOOD, "serial": "x1", fact: value}})
    (refusal,) = answer.refusals
    assert (refusal.code, refusal.kwargs["node"], refusal.kwargs["fact"]) == ("invalid_fact", "bad/n", fact)
    assert metric_value("scheduler_refused_facts_total") == before + 1
    stored = worker.scheduler.get_host_state(context.new(), "compute", "bad/n").document
    assert stored["facts"] == {
        name: fact_value for name, fact_value in {**GOOD, "serial": "x1"}.items() if name != fact
    }
    assert stored["inventories"]["VCPU"]["total"]
    assert set(decide(worker)[0]) >= {"good1", "good2"}


@pytest.mark.parametrize("cell", [{}, {**CELL, "threads": 0}, {**CELL, "pages": {"0": [1, 0]}}, {**CELL, "cores": 1}])
def test_malformed_numa_cells_are_refused(worker: FakeTransportWorker, cell: dict[str, Any]) -> None:
    answer = join(worker, {"numa": [CELL, cell]})
    assert [refusal.kwargs["fact"] for refusal in answer.refusals] == ["numa"]
    assert "numa" not in worker.scheduler.get_host_state(context.new(), "compute", "bad/n").document


def test_changed_fact_is_refused_like_a_first_one(worker: FakeTransportWorker) -> None:
    join(worker, {"facts": GOOD, "numa": [CELL]})
    delta = {"facts": {**GOOD, "hypervisor_version": -1}, "numa": [{}]}
    answer = worker.report("bad", {"bad/n": delta}, sequence=2, base=1, full=False)
    assert sorted(refusal.kwargs["fact"] for refusal in answer.refusals) == ["hypervisor_version", "numa"]
    stored = worker.scheduler.get_host_state(context.new(), "compute", "bad/n").document
    assert (stored["facts"], "numa" in stored) == ({"supported_instances": KVM}, False)


def test_stored_fact_that_makes_a_filter_fail_excludes_its_host_alone(
    worker: FakeTransportWorker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store_anything(monkeypatch)
    join(worker, {"facts": {**GOOD, "supported_instances": 5}})
    before = failures()
    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            assert decide(worker) == (["good1", "good2"], {set_aside.REASON: 1})
    assert failures() == before + 1
    assert sum("ImagePropertiesFilter" in text and "bad/n" in text for text in map(str, caplog.messages)) == 1


def test_host_that_was_set_aside_returns_with_other_facts(
    worker: FakeTransportWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_anything(monkeypatch)
    bad = {"facts": {**GOOD, "supported_instances": 5}}
    join(worker, bad)
    assert decide(worker)[0] == ["good1", "good2"]
    worker.report("bad", {"bad/n": {"traits": ["HW_CPU_X86_AVX2"]}}, sequence=2, base=1, full=False)
    worker.catch_up()
    assert decide(worker)[1] == {set_aside.REASON: 1}, "another report with the same facts"
    worker.report("bad", {"bad/n": {"facts": GOOD}}, sequence=3, base=2, full=False)
    worker.catch_up()
    assert decide(worker) == (["bad/n", "good1", "good2"], {})


def test_facts_of_a_host_that_is_down_stop_no_decision(
    worker: FakeTransportWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_anything(monkeypatch)
    join(worker, {"facts": {**GOOD, "supported_instances": 5}})
    worker.store.fence("bad", "token", force=True)
    worker.catch_up()
    candidates, reasons = decide(worker)
    assert candidates == ["good1", "good2"]
    assert reasons in ({REASON_DOWN: 1}, {set_aside.REASON: 1})
