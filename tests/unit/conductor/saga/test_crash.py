# SPDX-License-Identifier: Apache-2.0
"""A conductor crashes, or pauses past its lease, at each of its calls; another one continues."""

import itertools

import pytest

from tests.support.conductor.ledger import FOREVER_MS
from tests.support.conductor.simulated_cluster import (
    LEASE_MS,
    LIMITS,
    Conductor,
    KillSwitch,
    SimulatedCluster,
    uuid_list,
)
from tests.support.stride import offset
from tests.unit.conductor.saga.crash_scenarios import STORIES, CrashScenario

# Each story with the number of calls from one crash to the next.
CASES = [
    *(pytest.param(name, story.sample, id=name) for name, story in STORIES.items()),
    *(pytest.param(name, 1, id=f"{name}, all calls", marks=pytest.mark.long) for name in STORIES),
]


def run(story: CrashScenario, kill_switch: KillSwitch | None, ttl_ms: int = FOREVER_MS) -> SimulatedCluster:
    cluster = SimulatedCluster(story.capacities)
    cluster.ledger.ttl_ms = ttl_ms
    if kill_switch is not None:
        cluster.conductor(kill_switch)
    cluster.conductor()
    story.play(cluster)
    cluster.settle()
    return cluster


@pytest.mark.parametrize("name", STORIES)
def test_without_a_crash(name: str) -> None:
    story = STORIES[name]
    cluster = run(story, None)
    uuids = uuid_list(len(story.ends))
    assert cluster.statuses(uuids) == story.ends
    cluster.check(uuids)


@pytest.mark.parametrize("ttl_ms", [FOREVER_MS, LEASE_MS // 2], ids=["claims last", "claims expire"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("name", "step"), CASES)
def test_a_crash_at_every_call(name: str, step: int, after: bool, ttl_ms: int) -> None:
    """Given a conductor that dies at call k, when another takes over, then the final state is the same.

    Where claims expire after they were recorded, that costs an attempt, and may cost the last one. Where they expire
    before, the request is selected again under later attempts, of which more than the limit may be made. What moves and
    has no attempt left returns to its source.
    """
    story = STORIES[name]
    uuids = uuid_list(len(story.ends))
    whole = run(story, None, ttl_ms)
    attempts = [whole.record(uuid).attempt for uuid in uuids]
    for calls in itertools.count(1 + offset(step), step):
        kill_switch = KillSwitch(calls, after)
        cluster = run(story, kill_switch, ttl_ms)
        if not kill_switch.blown:
            break
        assert len(cluster.conductors) == 1
        ends = cluster.statuses(uuids)
        if ttl_ms == FOREVER_MS:
            assert ends == story.ends, calls
        else:
            for uuid, end, good, attempt in zip(uuids, ends, story.ends, attempts, strict=True):
                lost_last = end == "ERROR" and attempt == LIMITS.max_attempts
                one_more = end == "ACTIVE" and cluster.record(uuid).attempt > LIMITS.max_attempts
                migration = cluster.record(uuid).migration
                moved_back = end == "ACTIVE" and migration is not None and migration.status == "error"
                assert end == good or lost_last or one_more or moved_back, (calls, ends)
        cluster.check(uuids)
    assert calls > 10


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("name", "step"), CASES)
def test_a_pause_at_every_call(name: str, step: int, after: bool) -> None:
    """Given a conductor that pauses at call k past its lease, when it resumes, then it changes nothing."""
    story = STORIES[name]
    uuids = uuid_list(len(story.ends))
    for calls in itertools.count(1 + offset(step), step):
        cluster = SimulatedCluster(story.capacities)
        pause = Pause(cluster, calls, after)
        cluster.conductor(pause)
        story.play(cluster)
        cluster.settle()
        if not pause.blown:
            break
        assert cluster.statuses(uuids) == story.ends, calls
        cluster.check(uuids)
    assert calls > 10


class Pause(KillSwitch):
    """Pauses a conductor at one call until its lease expires and another conductor has done all work."""

    def __init__(self, cluster: SimulatedCluster, at: int, after: bool) -> None:
        super().__init__(at, after)
        self._cluster = cluster
        self._other: Conductor | None = None

    def call(self, method, *args, **kwargs):
        self.calls += 1
        if self.calls != self.at or self.blown:
            return method(*args, **kwargs)
        self.blown = True
        if not self.after:
            self._meanwhile()
            return method(*args, **kwargs)
        answer = method(*args, **kwargs)
        self._meanwhile()
        return answer

    def _meanwhile(self) -> None:
        cluster = self._cluster
        cluster.now_ms += LEASE_MS
        paused = list(cluster.conductors)
        cluster.conductors[:] = []
        cluster.conductor()
        cluster.settle(LEASE_MS)
        cluster.conductors[:] = paused
