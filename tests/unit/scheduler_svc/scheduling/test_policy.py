# SPDX-License-Identifier: Apache-2.0
"""The scheduling policy: what it reads, and that a call decides by one policy to its end."""

import dataclasses

import pytest

from rpcapi import context
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.prefilters.prefilter import Prefilter
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.intake import RequestIntake, RequestRewriter
from scheduler_svc.scheduling.policy import CurrentPolicy, SchedulingPolicy
from tests.unit.scheduler_svc.fakes.deployments import PartitionedDeployment
from tests.unit.scheduler_svc.fakes.hosts import node, request
from tests.unit.scheduler_svc.fakes.replica_views import filter_driver


def test_policy_reads_what_its_driver_filters_and_prefilters_read():
    driver = filter_driver()
    eligibility = [Filter("racks", lambda view, request: [], {"rack": frozenset({"power"})})]
    prefilters = [Prefilter("tenants", lambda request, aggregates: request, {"aggregate": frozenset({"colour"})})]
    reads = SchedulingPolicy(driver, eligibility, prefilters).reads
    assert reads == {**driver.reads, "rack": {"power"}, "aggregate": driver.reads["aggregate"] | {"colour"}}


def test_policy_cannot_be_modified():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SchedulingPolicy(filter_driver()).driver = filter_driver()


def test_call_that_started_before_a_reload_is_decided_by_the_earlier_policy():
    worker = PartitionedDeployment(a={"a1": node()}).worker
    drivers = []

    class ReloadingDriver:
        """A driver that is replaced when it is first used."""

        reads = filter_driver().reads

        def __init__(self, name):
            self._name = name

        def check(self, request):
            drivers.append((self._name, "check"))
            current.policy = SchedulingPolicy(ReloadingDriver("next"))

        def rank(self, *args):
            drivers.append((self._name, "rank"))
            return filter_driver().rank(*args)

        def name_for(self, request):
            return self._name

    current = CurrentPolicy(SchedulingPolicy(ReloadingDriver("first")))
    scheduler = RequestIntake(current, worker.scheduler, RequestRewriter(worker.partitions), worker.partitions)
    for number in range(2):
        scheduler.select(context.new("p", "u"), SelectionCall(request(), [f"vm-{number}"]))
    assert drivers == [("first", "check"), ("first", "rank"), ("next", "check"), ("next", "rank")]
