# SPDX-License-Identifier: Apache-2.0
"""Records that decisions and the store share."""

import dataclasses

import pytest

from scheduler_svc.core.records import ClaimBatch

BATCH = ClaimBatch(
    "req-1", "p", "u", resources={"VCPU": 1, "MEMORY_MB": 512}, intents=[], epoch=1, position=1, ttl_ms=1000
)


@pytest.mark.parametrize(
    ("host", "allocations", "is_explicit"),
    [
        ("a", {"a": {"MEMORY_MB": 512, "VCPU": 1}}, False),
        ("a", {"b": {"VCPU": 1, "MEMORY_MB": 512}}, True),
        ("a", {"a": {"VCPU": 1}}, True),
        ("a", {"a": {"VCPU": 1, "MEMORY_MB": 512}, "a/gpu": {"VGPU": 1}}, True),
        ("a", {"a": {"VCPU": 1, "MEMORY_MB": 513}}, True),
    ],
)
def test_allocations_are_explicit_unless_they_are_the_batchs_resources_at_the_host(host, allocations, is_explicit):
    assert BATCH.explicit_allocations(host, allocations) == (allocations if is_explicit else None)


def test_records_cannot_be_modified():
    with pytest.raises(dataclasses.FrozenInstanceError):
        BATCH.epoch = 2
