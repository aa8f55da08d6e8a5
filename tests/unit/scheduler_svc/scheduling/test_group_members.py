# SPDX-License-Identifier: Apache-2.0
"""Server groups: members are read from the store before a decision."""

from dataclasses import replace

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, ClaimRole, GroupPolicy, MoveEnd
from scheduler_svc.core.records import ClaimGroup, ClaimRef, GroupMembers
from scheduler_svc.scheduling.group_members import add_group_members
from tests.support.scheduler.hosts import node, request
from tests.support.scheduler.schedulers import FakeStore, HostPartition, select, selection_call


def test_members_of_the_group_are_read_before_each_try():
    """Given another worker that claims for the group between the reading of its members and the claim."""
    partition = HostPartition({f"h{number:02}": node() for number in range(2)})
    apart = request(group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))

    class Overtaken(FakeStore):
        is_first = True

        def prepare_all(self, batches, log_after=None):
            (batch,) = batches
            if self.is_first:
                self.is_first = False
                other = replace(apart, id="other", force_hosts=(batch.intents[0].candidates[0].host,))
                select(partition.scheduler()[0], selection_call(first=1, scheduling_request=other))
                batch = replace(batch, intents=[replace(batch.intents[0], candidates=batch.intents[0].candidates[:1])])
            return super().prepare_all([batch], log_after)

    scheduler, _ = partition.scheduler(Overtaken(partition.store))
    select(scheduler, selection_call(scheduling_request=apart))
    assert partition.store.group_hosts("g") == {"h00": 1, "h01": 1}
    assert partition.store.find_decision("req-1")["lost"][0][1] == "GROUP"


def test_affinity_puts_all_instances_on_one_host():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    together = request(group=ClaimGroup("g", GroupPolicy.AFFINITY))
    selection = select(scheduler, selection_call(4, scheduling_request=together))
    assert len({result.host for result in selection.prepared}) == 1


def test_affinity_selects_the_group_host_despite_lower_score():
    nodes = {f"h{number:02}": node({"VCPU": 8 + number}) for number in range(40)}
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    result = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.AFFINITY))
    select(scheduler, selection_call(scheduling_request=replace(result, force_hosts=("h00",))))
    assert select(scheduler, selection_call(3, first=1, scheduling_request=result)).prepared[2].host == "h00"
    with pytest.raises(errors.NoValidHost, match="39 server group policy, 1 not enough VCPU"):
        select(scheduler, selection_call(first=4, scheduling_request=replace(result, resources={"VCPU": 5})))


def test_anti_affinity_selects_the_last_host_without_a_group_member():
    nodes = {f"h{number:02}": node({"VCPU": 100 - number}) for number in range(60)}
    partition = HostPartition(nodes)
    scheduler, _ = partition.scheduler()
    apart = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    select(scheduler, selection_call(59, scheduling_request=apart))
    assert select(scheduler, selection_call(first=59, scheduling_request=apart)).prepared[0].host == "h59"


def test_anti_affinity_never_selects_a_host_twice():
    partition = HostPartition({f"h{number:02}": node() for number in range(20)})
    scheduler, _ = partition.scheduler()
    apart = request(group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY))
    results = [
        select(scheduler, selection_call(first=number, scheduling_request=replace(apart, id=f"r{number}")))
        for number in range(20)
    ]
    assert len({result.prepared[0].host for result in results}) == 20
    with pytest.raises(errors.NoValidHost):
        select(scheduler, selection_call(first=20, scheduling_request=apart))


@pytest.mark.parametrize("most", [1, 2])
def test_anti_affine_instance_that_moves_may_stay_on_its_host_and_others_may_not_come(most):
    partition = HostPartition({"h00": node(), "h01": node()})
    scheduler, _ = partition.scheduler()
    apart = request({"VCPU": 1}, group=ClaimGroup("g", GroupPolicy.ANTI_AFFINITY, most))
    selected = select(scheduler, selection_call(2 * most, scheduling_request=apart)).prepared
    mover, host = selected[0].consumer, selected[0].host
    partition.store.confirm(host, [ClaimRef(mover, 1)])
    partition.store.begin_moves([ClaimRef(mover, 1)], ["m1"])
    resize = replace(apart, id="resize", source_partition="default")
    moves = [MoveEnd(ClaimRole.DESTINATION, "m1", 1)]
    call = replace(selection_call(scheduling_request=resize), consumers=(mover,), attempt=2, moves=moves)
    assert select(scheduler, call).prepared[0].host == host
    for other in (apart, resize):
        with pytest.raises(errors.NoValidHost):
            select(scheduler, selection_call(first=9, scheduling_request=replace(other, id="other")))


def test_soft_group_policy_holds_while_capacity_allows():
    for policy, hosts in ((GroupPolicy.SOFT_ANTI_AFFINITY, 4), (GroupPolicy.SOFT_AFFINITY, 1)):
        partition = HostPartition()  # four hosts with capacity for four each
        scheduler, _ = partition.scheduler()
        scheduling_request = request({"VCPU": 2}, group=ClaimGroup("g", policy, 1))
        # Given some members placed one by one, and some together
        selections = [
            select(scheduler, selection_call(first=at, scheduling_request=scheduling_request)).prepared[0].host
            for at in (0, 1)
        ]
        selections += [
            result.host
            for result in select(scheduler, selection_call(2, first=2, scheduling_request=scheduling_request)).prepared
        ]
        assert len(set(selections)) == hosts
        # Then a soft policy refuses nothing: hosts are shared, or a second one is used
        select(scheduler, selection_call(4, first=4, scheduling_request=scheduling_request))
        assert len(partition.live()) == 8


def test_named_members_and_hosts_count_and_a_consumer_of_a_final_call_does_not():
    together = request(
        group=ClaimGroup("g", GroupPolicy.SOFT_AFFINITY), group_members=GroupMembers(("m-1", "m-2"), ("h3",))
    )
    call = selection_call(scheduling_request=together)
    hosts = {call.consumers[0]: "h1", "m-1": "h2", "m-2": "h2"}

    class Store:
        def group_hosts(self, group_id):
            return {"h1": 1, "h2": 1}

        def hosts_of(self, consumers):
            return {name: hosts[name] for name in consumers if name in hosts}

    assert add_group_members(Store(), call).decision.members == {"h1": 1, "h2": 1}
    assert add_group_members(Store(), replace(call, final=True)).decision.members == {"h2": 2, "h3": 1}


def test_final_claims_are_those_of_the_requests_project_and_user():
    partition = HostPartition()
    scheduler, _ = partition.scheduler()
    call = selection_call(scheduling_request=request(project="p2", user="u2"))
    (prepared,) = select(scheduler, replace(call, final=True)).prepared
    assert prepared.answer is Answer.PREPARED
    (state,) = partition.store.read_allocations(call.consumers).values()
    assert (state.project, state.user, state.generation) == ("p2", "u2", 1)
