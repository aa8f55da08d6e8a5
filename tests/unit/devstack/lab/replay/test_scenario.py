# SPDX-License-Identifier: Apache-2.0
"""A replay with a scripted placer, and the oracle."""

from array import array
from types import SimpleNamespace

import pytest

from devstack.lab import hosts as lab_hosts
from devstack.lab.replay import policies
from devstack.lab.replay.arrivals import ArrivalBatch, ReplayRequest, ReplayServer, arrival_batches
from devstack.lab.replay.scenario import SAMPLES, VERIFICATIONS, Oracle, TraceReplay
from tests.support.scheduler.hosts import node
from tests.unit.devstack.lab.replay.traces import server, trace_of

TWO_HOSTS = {f"h{number}/n": node({"VCPU": 4, "MEMORY_MB": 8192}) for number in range(2)}


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
    return TraceReplay(placer, observer or Observer(), summary, array("b", oracle)).replay(batches)


def test_servers_leave_before_others_arrive_at_the_same_time():
    placer = Placer()
    run = replay([batch(0, request((0, 50.0), (1, 20.0))), batch(50, request((2, None)))], placer)
    assert placer.left == [[1, 0]]
    assert (run.placements, run.refusals) == (3, 0)
    assert (run.seconds, run.claims) == (1.5, ["claim"])
    assert run.servers_by_host == {"h": 3}


@pytest.mark.parametrize(("could_take", "avoidable"), [(True, 2), (False, 0)])
def test_refusals_are_compared_with_the_room_and_the_oracle(could_take, avoidable):
    placer = Placer(refused={1})
    batches = [batch(0, request((0, None)), request((1, None), (2, None)), request((3, None)))]
    run = replay(batches, placer, oracle=(0, 1, 1, 1), observer=Observer(could_take))
    assert (run.placements, run.refusals, run.avoidable_refusals) == (2, 2, avoidable)
    assert (run.oracle_only, run.driver_only) == (2, 1)
    assert run.first_refusal == (2, 0.75)


def test_samples_are_evenly_spread_and_some_are_verified():
    placer = Placer(excess=[{"provider": "h"}])
    run = replay([batch(0, request((0, None)))], placer)
    assert len(run.samples) == SAMPLES
    assert [sample.at for sample in run.samples[:2]] == [1.0, 2.0]
    assert run.samples[-1].at == 200.0
    assert placer.verifications == run.overcommit == VERIFICATIONS


def placements(*servers, together=False, policy="filter"):
    oracle = Oracle(lab_hosts.snapshot(TWO_HOSTS, {}), policies.load(policies.load(policy).oracle).driver)
    for batch in arrival_batches(trace_of(*servers), None, together):
        oracle.process(batch)
    return list(oracle.placed_flags)


def test_places_until_full_and_again_after_departures():
    full = [server(0, 10, vcpus=4), server(0, 20, vcpus=4)]
    assert placements(*full, server(5)) == [1, 1, 0]
    assert placements(*full, server(10)) == [1, 1, 1]
    assert placements(*full, server(10, vcpus=4), server(15), server(20)) == [1, 1, 1, 0, 1]


def test_request_is_placed_completely_or_not_at_all():
    three = [server(0, vcpus=3)] * 3
    assert placements(*three, server(1, vcpus=4), together=True) == [0, 0, 0, 1]
    assert placements(*three, server(1, vcpus=4)) == [1, 1, 0, 0]


@pytest.mark.parametrize(("policy", "fits"), [("filter", 0), ("pack", 1), ("chance", 0)])
def test_places_by_the_weighers_of_the_compared_policy(policy, fits):
    # When spread, two small servers leave no host for a large one; 'chance' is judged like the default driver
    assert placements(server(0), server(1), server(2, vcpus=4), policy=policy)[-1] == fits
