# SPDX-License-Identifier: Apache-2.0
"""A request that loses its hosts to other members of its server group is decided again, like one that loses capacity.

The refusal was "server group policy", which is final, although other hosts were free.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from rpcapi import errors
from rpcapi.resources import transient
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import BatchOutcomes, ClaimBatch, ClaimGroup
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import FakeStore, HostPartition, select, selection_call

APART = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
TOGETHER = ClaimGroup("g", GroupPolicy.AFFINITY)


class OvertakenStore(FakeStore):
    """A store in which another worker's members reach all candidates before each claim."""

    def __init__(self, partition: HostPartition, group: ClaimGroup, most: int) -> None:
        super().__init__(partition.store)
        self._other, _ = partition.scheduler()
        self._group = group
        self._most = most  # candidates that the other worker takes
        self._numbers = count(1000)

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        for candidate in batches[0].intents[0].candidates[-self._most :]:
            number = next(self._numbers)
            member = replace(request(), id=f"r{number}", group=self._group, force_hosts=(candidate.host,))
            select(self._other, selection_call(first=number, scheduling_request=member))
        return super().prepare_all(batches, log_after)


def refusal(
    partition: HostPartition, group: ClaimGroup, instances: int = 1, most: int = 0, *, final: bool = False
) -> errors.NoValidHost:
    scheduler, _ = partition.scheduler(OvertakenStore(partition, group, most) if most else None)
    with pytest.raises(errors.NoValidHost) as caught:
        select(scheduler, selection_call(instances, scheduling_request=request(group=group), final=final))
    return caught.value


@pytest.mark.parametrize("final", [False, True], ids=["gantt", "nova"])
def test_anti_affine_request_that_lost_all_tries_may_be_decided_again(final: bool) -> None:
    partition = HostPartition({f"h{number:02}": node() for number in range(80)})
    error = refusal(partition, APART, most=80, final=final)
    assert transient.may_pass(error)
    assert error.kwargs["reasons"][transient.CLAIMED_MEANWHILE]
    assert len(partition.store.group_hosts("g")) < 80


def test_anti_affine_request_is_refused_for_good_after_others_took_the_last_hosts() -> None:
    error = refusal(HostPartition({f"h{number}": node() for number in range(3)}), APART, most=3)
    assert error.kwargs["reasons"] == {"server group policy": 3}
    assert not transient.may_pass(error)


def test_affine_request_is_refused_for_good_if_another_member_came_first_and_its_host_is_full() -> None:
    partition = HostPartition({"h0": node(), "h1": node({"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20})})
    scheduler, _ = partition.scheduler()
    member = replace(request(group=TOGETHER), id="first", force_hosts=("h1",))
    select(scheduler, selection_call(first=9, scheduling_request=member))
    error = refusal(partition, TOGETHER)
    assert error.kwargs["reasons"] == {"server group policy": 1, "not enough VCPU": 1}
    assert not transient.may_pass(error)


def test_host_with_members_takes_fewer_instances_of_one_request() -> None:
    """The ranking expected max_per_host instances of each request, and the claims were refused."""
    group = replace(APART, max_per_host=2)
    partition = HostPartition({"h0": node()})
    scheduler, _ = partition.scheduler()
    member = replace(request(group=group), id="first")
    select(scheduler, selection_call(first=9, scheduling_request=member))
    error = refusal(partition, group, instances=2)
    assert error.kwargs["reasons"] == {"capacity taken by the rest of this request": 1}
    assert not transient.may_pass(error)
