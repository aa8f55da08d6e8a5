# SPDX-License-Identifier: Apache-2.0
"""Nova's translation of flavors, as sent to gantt."""

import pytest

from tests.unit.devstack.lab.peers.inside import stubs


@pytest.fixture
def program(monkeypatch):
    return stubs.load(
        monkeypatch, "nova_requests_side", "nova.conf", "nova.pci", "nova.scheduler", "nova.virt", "nova.objects"
    )


def test_cell_has_all_cpus_and_those_pinned(program):
    program.PAGES = {-1: "small"}
    cell = stubs.record(
        cpuset={3, 1}, pcpuset={2, 0}, memory=64, pagesize=-1, cpu_policy=None, cpu_thread_policy="prefer"
    )
    assert program._cell(cell) == {
        "cpus": [0, 1, 2, 3],
        "pinned": [0, 2],
        "memory_mb": 64,
        "page": "small",
        "cpu_policy": "shared",
        "thread_policy": "prefer",
    }
    cell.pagesize = 2048
    assert program._cell(cell)["page"] == 2048


def test_group_is_sorted(program):
    group = stubs.record(resources={"VCPU": 1}, required_traits={"B", "A"}, forbidden_traits={"D", "C"})
    expected = {"resources": {"VCPU": 1}, "required": ["A", "B"], "forbidden": ["C", "D"]}
    assert program._group(group) == expected


def test_refusal_of_nova_is_a_result(program, monkeypatch):
    def refuse(self, flavor, properties):
        raise ValueError("no such policy")

    monkeypatch.setattr(program.NovaRequests, "_translate", refuse)
    assert program.NovaRequests().ask({}, {}) == {"refused": "ValueError: no such policy"}
