# SPDX-License-Identifier: Apache-2.0
"""Types and bounds of reported facts."""

from typing import Any

import pytest

from scheduler_svc.core.namespaces import compute

CELL = {
    **{"id": 0, "path": "numa0", "socket": 1, "cores": [[0, 4], [1]], "shared": "2-3", "threads": 2, "pinned": "0"},
    "pages": {"2048": [8, 0]},
}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"hypervisor_version": 0, "hypervisor_type": "", "supported_instances": []},
        {"hypervisor_version": compute.MAX_VERSION, "location": "x" * compute.MAX_TEXT},
        {"hypervisor_version": None, "supported_instances": None},
        {"supported_instances": [["x86_64", "kvm", "hvm"], ("i686", "qemu", "hvm")]},
        {"cpu_info": {"model": "x", "topology": {"cores": 4}, "maxphysaddr": {"mode": "emulate", "bits": 46}}},
        {"rack": [1, 2.5, "x", None, True, {"y": []}], "deep": nested(compute.MAX_DEPTH)},
    ],
)
def test_valid_facts_are_kept(facts: dict[str, Any]) -> None:
    assert compute.refuse_facts(facts) == {}


@pytest.mark.parametrize(
    ("fact", "value", "allowed"),
    [
        ("hypervisor_version", compute.MAX_VERSION + 1, f"an integer from 0 to {compute.MAX_VERSION}"),
        ("hypervisor_version", 8.0, "an integer"),
        ("hypervisor_type", "x" * (compute.MAX_TEXT + 1), "a text of at most 255 characters"),
        ("supported_instances", [["x86_64", "kvm"]], "elements, each a list of 3 elements, each a text"),
        ("supported_instances", [["a", "b", "c"]] * (compute.MAX_INSTANCE_TYPES + 1), "a list of 0 to 256"),
        ("supported_instances", "x86_64", "a list"),
        ("cpu_info", [], "an object with maxphysaddr"),
        ("cpu_info", {"maxphysaddr": {"bits": compute.MAX_ADDRESS_BITS + 1}}, "bits: an integer from 0 to 128"),
        ("cpu_info", {"model": nested(compute.MAX_DEPTH + 1)}, "an object"),
        ("rack", 2**63, "JSON of at most 16 levels"),
        ("rack", {"a": [-(2**63)]}, "JSON"),
        ("rack", nested(compute.MAX_DEPTH + 1), "JSON"),
    ],
)
def test_invalid_fact_is_refused_with_what_is_allowed(fact: str, value: Any, allowed: str) -> None:
    refused = compute.refuse_facts({"location": "r1", fact: value})
    assert list(refused) == [fact]
    assert allowed in refused[fact]


def test_reported_cell_is_valid() -> None:
    assert compute.CELL.is_valid(CELL)
    assert compute.CELL.is_valid(CELL | {"cores": [], "pages": {}, "shared": ""})


@pytest.mark.parametrize(
    "changes",
    [
        *({"threads": value} for value in (0, compute.MAX_THREADS + 1, None, True)),
        *({"pages": {size: [1, 0]}} for size in ("0", "x", "9" * 11)),
        *({"pages": {"4": amounts}} for amounts in ([1], [-1, 0], 1)),
        {"pages": []},
        *({"pinned": text} for text in ("x", "0-99999999", 5)),
        *({"cores": cores} for cores in ([[-1]], [0], [[0]] * (compute.MAX_CORES + 1), [[2**17]])),
        {"path": None},
    ],
)
def test_malformed_cell_is_refused(changes: dict[str, Any]) -> None:
    assert not compute.CELL.is_valid(CELL | changes)
    assert not compute.CELL.is_valid({key: value for key, value in CELL.items() if key not in changes})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, 2**63, True, "1", None])
def test_metric_is_a_bounded_number(value: Any) -> None:
    assert not compute.METRIC.is_valid(value)
    assert compute.METRIC.is_valid(-0.5)
