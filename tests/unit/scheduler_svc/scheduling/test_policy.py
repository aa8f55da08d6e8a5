# SPDX-License-Identifier: Apache-2.0
"""The scheduling policy: what it reads, and that a call decides by one policy to its end."""

import dataclasses

import pytest

from rpcapi import context, errors
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.intake import RequestIntake, RequestRewriter
from scheduler_svc.scheduling.ranking import CurrentPolicy, SchedulingPolicy
from tests.support.scheduler.deployments import PartitionedDeployment
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.replica_views import filter_driver


def test_policy_reads_what_its_driver_filters_and_prefilters_read():
    driver = filter_driver()
    eligibility = [Filter("racks", lambda view, request: [], {"rack": frozenset({"power"})})]
    prefilters = [Prefilter("tenants", lambda request, aggregates: request, {"aggregate": frozenset({"colour"})})]
    reads = SchedulingPolicy(driver, eligibility, prefilters).reads
    assert reads == {**driver.reads, "rack": {"power"}, "aggregate": driver.reads["aggregate"] | {"colour"}}


def test_policy_reads_what_all_drivers_read():
    class ReadingDriver(Driver):
        """A driver that reads one key."""

        def __init__(self, namespace, key):
            self.reads = {namespace: frozenset({key})}

        def rank(self, view, request, count, seed):
            raise NotImplementedError

    first, second = ReadingDriver("compute", "traits"), ReadingDriver("volume", "location")
    assert SchedulingPolicy(first, drivers={"a": first, "b": second}).reads == first.reads | second.reads


def test_only_driver_refuses_requests_that_name_one():
    policy = SchedulingPolicy(filter_driver())
    assert policy.driver_for(request()) is policy.driver
    assert policy.driver_name(request()) == "FilterDriver"
    with pytest.raises(errors.UnknownDriver, match="allowed: only the configured driver"):
        policy.driver_for(request(driver="filter"))


def test_policy_cannot_be_modified():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SchedulingPolicy(filter_driver()).driver = filter_driver()


def test_call_that_started_before_a_reload_is_decided_by_the_earlier_policy():
    worker = PartitionedDeployment(a={"a1": node()}).worker
    drivers = []

    class NamedDriver:
        """A driver that logs its name."""

        reads, filters = filter_driver().reads, ()

        def __init__(self, name):
            self._name = name

        def rank(self, *args):
            drivers.append((self._name, "rank"))
            return filter_driver().rank(*args)

    def reloading_policy(name):
        """Return a policy that is replaced when its prefilter runs."""

        def rewrite(request, aggregates):
            drivers.append((name, "rewrite"))
            current.policy = reloading_policy("next")
            return request

        return SchedulingPolicy(NamedDriver(name), prefilters=[Prefilter("reload", rewrite)])

    current = CurrentPolicy(reloading_policy("first"))
    scheduler = RequestIntake(current, worker.scheduler, RequestRewriter(worker.partitions), worker.partitions)
    for number in range(2):
        scheduler.select(SelectionCall(context.new("p", "u"), request(), [f"vm-{number}"]))
    assert drivers == [("first", "rewrite"), ("first", "rank"), ("next", "rewrite"), ("next", "rank")]
