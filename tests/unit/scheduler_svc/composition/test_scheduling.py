# SPDX-License-Identifier: Apache-2.0
"""What decides in a worker, by its configuration."""

import pytest

from scheduler_svc.composition import policy, stores
from scheduler_svc.composition.scheduling import SchedulingParts, milliseconds
from scheduler_svc.scheduling.shadow import ShadowStore
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler.workers import configure


def build(conf, **options):
    configure(conf)
    for name, value in options.items():
        conf.set_override(name, value, group="scheduler")
    scheduling_policy = policy.load(conf)
    partitions = stores.open_partitions(conf, MemoryStore, scheduling_policy.reads, None)
    return SchedulingParts(conf, partitions, scheduling_policy), scheduling_policy


@pytest.mark.parametrize(("mode", "store"), [("claim", MemoryStore), ("shadow", ShadowStore)])
def test_mode_selects_the_store_of_alternates(conf, mode, store):
    scheduling, _ = build(conf, mode=mode)
    assert [type(alternates._store) for alternates in scheduling.alternates] == [store]


def test_alternates_are_those_of_the_served_partitions(conf):
    scheduling, _ = build(conf, partitions=["default", "east", "west"], claims_partitions=["west", "default"])
    assert len(scheduling.alternates) == 2


def test_first_policy_is_the_current_one(conf):
    scheduling, scheduling_policy = build(conf)
    assert scheduling.current.policy is scheduling_policy


@pytest.mark.parametrize(("seconds", "expected"), [(60.0, 60_000), (0.0004, 0), (0.0006, 1), (1.5, 1500)])
def test_seconds_become_whole_milliseconds(seconds, expected):
    assert milliseconds(seconds) == expected
