# SPDX-License-Identifier: Apache-2.0
"""A replay with a scripted placer."""

from array import array
from types import SimpleNamespace

import pytest

from devstack.lab.replay.arrivals import ArrivalBatch, ReplayRequest, ReplayServer
from devstack.lab.replay.scenario import SAMPLES, VERIFICATIONS, FirstRefusal, TraceReplay


class Placer:
    """Places a request on one host unless its first server is in ``refused``."""

    def __init__(self, refused=(), excess=()):
        self.refused, self.left, self.seconds, self.verifications = set(refused), [], 1.5, 0
        self.store = SimpleNamespace(verify=self._verify)
        self._excess = list(excess)

    def _verify(self):
        self.verifications += 1
        return SimpleNamespace(excess=self._excess, problems=[])

    def place(self, requests, on_refusal):
        assignments = []
        for request in requests:
            if request.members[0].number in self.refused:
                on_refusal(request)
                assignments.append(None)
            else:
                assignments.append(["h"] * len(request.members))
        return assignments

    def leave(self, servers):
        self.left.append([server.member.number for server in servers])


class Observer:
    def __init__(self, could_take=True):
        self.claims, self.has_room = ["claim"], could_take

    def catch_up(self):
        pass

    def could_take(self, resources, count):
        return self.has_room

    def sample(self, at):
        return SimpleNamespace(at=at, fill=0.75)


def batch(at, *requests):
    return ArrivalBatch(at, list(requests))


def request(*members):
    return ReplayRequest((1, 1024), tuple(ReplayServer(number, ends) for number, ends in members))


def replay(batches, placer, oracle=(1, 1, 1, 1), observer=None):
    summary = SimpleNamespace(begins=0.0, ends=200.0)
    result = SimpleNamespace(placed_flags=array("b", oracle))
    steps = []
    bar = SimpleNamespace(update=steps.append)
    run = TraceReplay(placer, observer or Observer(), summary, result).replay(batches, bar)
    return run, steps


def test_servers_leave_before_others_arrive_at_the_same_time():
    placer = Placer()
    run, steps = replay([batch(0, request((0, 50.0), (1, 20.0))), batch(50, request((2, None)))], placer)
    assert placer.left == [[1, 0]]
    assert (run.placements, run.refusals, steps) == (3, 0, [2, 1])
    assert (run.seconds, run.claims) == (1.5, ["claim"])


@pytest.mark.parametrize(("could_take", "avoidable"), [(True, 2), (False, 0)])
def test_refusals_are_compared_with_the_room_and_the_oracle(could_take, avoidable):
    placer = Placer(refused={1})
    batches = [batch(0, request((0, None)), request((1, None), (2, None)), request((3, None)))]
    run, _ = replay(batches, placer, oracle=(0, 1, 1, 1), observer=Observer(could_take))
    assert (run.placements, run.refusals, run.avoidable_refusals) == (2, 2, avoidable)
    assert (run.oracle_only, run.driver_only) == (2, 1)
    assert run.first_refusal == FirstRefusal(2, 0.75)


def test_samples_are_evenly_spread_and_some_are_verified():
    placer = Placer(excess=[{"provider": "h"}])
    run, _ = replay([batch(0, request((0, None)))], placer)
    assert len(run.samples) == SAMPLES
    assert [sample.at for sample in run.samples[:2]] == [1.0, 2.0]
    assert run.samples[-1].at == 200.0
    assert placer.verifications == run.overcommit == VERIFICATIONS
