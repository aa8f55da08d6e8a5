# SPDX-License-Identifier: Apache-2.0
"""What is planned on nodes is seen by its own reader, until the block ends."""

import threading

import pytest

from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node


def free(table: HostTable, name: str = "a", resource_class: str = "VCPU") -> float:
    with table.reading() as view:
        row = view.row(name)
        assert row is not None
        return float(view.hosts.free(resource_class)[row])


@pytest.fixture
def table() -> HostTable:
    return hosts.table({"a": node({"VCPU": 8, "MEMORY_MB": 4096}), "b": node({"VCPU": 3})}, used={"a": {"VCPU": 1}})


def test_plans_add_up_and_end_with_their_block(table: HostTable) -> None:
    with table.planning() as plan:
        plan("a", {"a": {"VCPU": 2}})
        plan("a", {"a": {"VCPU": 3, "MEMORY_MB": 96}})
        assert (free(table), free(table, resource_class="MEMORY_MB"), free(table, "b")) == (2, 4000, 3)
    assert (free(table), free(table, resource_class="MEMORY_MB")) == (7, 4096)


def test_plans_end_when_their_block_fails(table: HostTable) -> None:
    with pytest.raises(KeyError), table.planning() as plan:
        plan("a", {"a": {"VCPU": 2}})
        raise KeyError
    assert free(table) == 7


def test_plans_count_as_claims_until_the_block_ends() -> None:
    read = {"compute": frozenset({"metrics.io_ops"})}
    reported = {"a": node(metrics={"instances": 2, "io_ops": 2}), "b": node(metrics={"instances": 0})}
    table = hosts.table(reported, used={"a": {"claims": 3}}, reads=read)

    def builds() -> dict[str, float]:
        with table.reading() as view:
            return {name: float(view.state("compute", "metrics.io_ops")[view.row(name)]) for name in ("a", "b")}

    before = builds()
    with table.planning() as plan:
        plan("a", {"a": {"VCPU": 1}})
        plan("a", {"a": {"VCPU": 1}})
        plan("b", {"b": {"VCPU": 1}})
        plan("nowhere", {})
        assert builds() == {"a": 5, "b": 1}
    assert builds() == pytest.approx(before, nan_ok=True)
    assert before["a"] == 3


def test_unknown_providers_and_classes_are_ignored(table: HostTable) -> None:
    with table.planning() as plan:
        plan("nowhere", {"nowhere": {"VCPU": 2}})
        plan("a", {"a": {"CUSTOM_UNKNOWN": 2}})
        assert free(table) == 7


def test_changes_and_other_readers_wait(table: HostTable) -> None:
    answers: list[float] = []
    other = threading.Thread(target=lambda: answers.append(free(table)))
    change = threading.Thread(target=lambda: table.apply_used({"b": {"VCPU": 2}}, 10**6))
    with table.planning() as plan:
        plan("a", {"a": {"VCPU": 2}})
        plan("b", {"b": {"VCPU": 1}})
        other.start()
        change.start()
        other.join(0.05)
        assert (answers, free(table, "b")) == ([], 2)
    other.join()
    change.join()
    assert answers == [7]
    assert free(table, "b") == 1
