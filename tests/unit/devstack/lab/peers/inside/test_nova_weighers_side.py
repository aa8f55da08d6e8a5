# SPDX-License-Identifier: Apache-2.0
"""Host states for Nova's weighers."""

import pytest

from tests.unit.devstack.lab.peers.inside import stubs


@pytest.fixture
def program(monkeypatch):
    return stubs.load(
        monkeypatch, "nova_weighers_side", "nova.context", "nova.conf", "nova.objects", "nova.scheduler.weights"
    )


def test_ratios_are_pairs_of_an_option(program):
    assert program._pairs({"a": 1.0, "b": -2.5}) == ["a=1.0", "b=-2.5"]


def test_members_are_the_same_on_every_call_and_differ_between_hosts(program):
    assert program._member("h1", 0) == program._member("h1", 0)
    assert len({program._member(host, number) for host in ("h1", "h2") for number in range(3)}) == 6


def test_instances_without_an_image_are_not_listed(program):
    instances = [program.StubInstance(None), program.StubInstance("image")]
    assert [instance.image_meta for instance in program.StubInstanceList(None, instances)] == ["image"]
