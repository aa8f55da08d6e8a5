# SPDX-License-Identifier: Apache-2.0
"""Which partition serves a call: the best, the recorded one, the group's; never two."""

import pytest

from rpcapi import context, errors
from rpcapi.model.claims import GroupPolicy, Verdict
from scheduler_svc.deciding.asked import SelectionCall
from scheduler_svc.deciding.partitioned import GROUP_TTL_MS, LINGER_S, REASON_GROUP
from scheduler_svc.store.records import ClaimGroup, ClaimRef
from tests.unit.scheduler_svc.deployments import TTL_MS, PartitionedDeployment
from tests.unit.scheduler_svc.hosts import join, node, request

ROOMY = {"VCPU": 16, "MEMORY_MB": 32768, "DISK_GB": 400}
PIN_MS = round(TTL_MS + 1000 * LINGER_S)


def asked(count=1, first=0, asks=None, **more):
    return SelectionCall(asks or request(), [f"vm-{number}" for number in range(first, first + count)], **more)


def select(worker, wish):
    return worker.selector.select(context.new("p", "u"), wish)


def test_the_best_host_of_all_partitions_is_taken():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node(ROOMY)})
    decided = select(deployment.worker, asked())
    assert (decided.partition, decided.prepared[0].host) == ("b", "b1")
    assert deployment.live() == {"vm-0": ["b"]}
    assert decided.epoch == deployment.stores["b"].state.epoch


def test_where_the_best_of_all_are_enough_a_partition_is_not_ranked_by_itself():
    nodes = {name: {f"{name}{number:02}": node() for number in range(20)} for name in "ab"}
    deployment = PartitionedDeployment(**nodes)
    decided = select(deployment.worker, asked(alternates=4))
    document = deployment.stores[decided.partition].find_decision("req-1")
    assert document["hosts"] == 40
    assert len(decided.prepared[0].alternates) == 4
    assert {name[0] for name in decided.prepared[0].alternates} == {decided.partition}


def test_alternates_are_of_the_chosen_partition():
    deployment = PartitionedDeployment(a={"a1": node(), "a2": node()}, b={"b1": node(ROOMY), "b2": node(), "b3": node()})
    (one,) = select(deployment.worker, asked(alternates=5)).prepared
    assert {one.host, *one.alternates} == {"b1", "b2", "b3"}


def test_all_instances_of_a_call_go_to_one_partition_that_holds_them():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={f"b{number}": node() for number in range(5)})
    decided = select(deployment.worker, asked(12))  # the best host, a1, holds 8
    assert decided.partition == "b"
    assert set(map(tuple, deployment.live().values())) == {("b",)}


def test_a_call_in_chunks_that_fails_in_one_partition_is_given_back_and_goes_to_the_next():
    small = {f"a{number:02}": node(ROOMY) for number in range(14)}  # room for 112
    large = {f"b{number:02}": node() for number in range(40)}  # room for 160
    deployment = PartitionedDeployment(a=small, b=large)
    decided = select(deployment.worker, asked(130))
    assert decided.partition == "b"
    assert len(deployment.live()) == 130
    assert set(map(tuple, deployment.live().values())) == {("b",)}


def test_a_call_in_chunks_that_may_not_have_been_given_back_is_taken_nowhere_else():
    small = {f"a{number:02}": node(ROOMY) for number in range(14)}  # room for 112
    deployment = PartitionedDeployment(a=small, b={f"b{number:02}": node() for number in range(40)})
    deployment.stores["a"].mute = "abort"
    with pytest.raises(errors.NoValidHost):
        select(deployment.worker, asked(130))
    assert not deployment.stores["b"].claims()[0]


def test_a_request_for_more_than_any_partition_holds_is_refused_whole():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.NoValidHost):
        select(deployment.worker, asked(5))
    assert deployment.live() == {}


def test_a_refusal_counts_the_hosts_of_all_partitions():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node(), "b2": node()})
    with pytest.raises(errors.NoValidHost, match="No valid host: 3 not enough VCPU"):
        select(deployment.worker, asked(asks=request({"VCPU": 100})))
    assert deployment.stores["a"].find_decision("req-1")["hosts"] == 3


def test_what_others_took_in_one_partition_is_sought_in_the_next():
    deployment = PartitionedDeployment(2, a={"a1": node()}, b={"b1": node({"VCPU": 4})})
    slow, quick = deployment.workers
    select(quick, asked(4, first=10, asks=request({"VCPU": 2}, force_hosts=("a1",))))
    decided = select(slow, asked(asks=request({"VCPU": 2})))
    assert decided.partition == "b"
    assert deployment.stores["a"].find_decision("req-1")["outcome"] == "refused"


def test_a_refusal_counts_what_was_passed_over_and_what_was_tried_in_vain():
    deployment = PartitionedDeployment(2, a={"a1": node()}, b={"b1": node({"VCPU": 1})})
    slow, quick = deployment.workers
    select(quick, asked(4, first=10, asks=request({"VCPU": 2}, force_hosts=("a1",))))
    with pytest.raises(errors.NoValidHost) as caught:
        select(slow, asked(asks=request({"VCPU": 2})))
    assert caught.value.kwargs["reasons"] == {"not enough VCPU": 2}


def test_a_call_whose_deadline_passed_leaves_no_record_of_its_partition():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.DeadlinePassed):
        deployment.worker.selector.select(context.new("p", "u", deadline=1.0), asked())
    assert not any(store.state.pins for store in deployment.stores.values())


@pytest.mark.parametrize("other", [False, True])
def test_a_repeated_call_is_served_where_it_was_though_another_partition_is_better_now(other):
    deployment = PartitionedDeployment(2, a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].mute = "prepare"
    with pytest.raises(errors.StoreUnavailable, match="was lost"):
        select(deployment.worker, asked())
    join(deployment.stores["b"], {"big": node({each: 10 * most for each, most in ROOMY.items()})})
    for worker in deployment.workers:
        worker.follow()
    assert select(deployment.workers[other], asked()).partition == "a"
    assert deployment.live() == {"vm-0": ["a"]}
    assert select(deployment.worker, asked(first=1)).partition == "b"


def test_a_repeated_call_is_answered_even_when_all_is_full():
    deployment = PartitionedDeployment(a={"a1": node({"VCPU": 2})}, b={"b1": node({"VCPU": 2})})
    asks = request({"VCPU": 2})
    first, second = (select(deployment.worker, asked(first=number, asks=asks)).partition for number in range(2))
    deployment.worker.follow()
    assert [select(deployment.worker, asked(first=number, asks=asks)).partition for number in range(2)] == [
        first,
        second,
    ]
    with pytest.raises(errors.NoValidHost, match="2 not enough VCPU"):
        select(deployment.worker, asked(first=2, asks=asks))


def test_without_one_partition_requests_are_decided_over_the_others():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node()})
    deployment.take_away("a")
    assert select(deployment.worker, asked()).partition == "b"
    with pytest.raises(errors.NoValidHost, match="2 partition unavailable, 1 not enough VCPU"):
        select(deployment.worker, asked(first=1, asks=request({"VCPU": 100})))
    deployment.take_away("a", False)
    assert select(deployment.worker, asked(first=2)).partition == "a"


def test_a_partition_that_fails_a_claim_is_left_out_by_the_next_call():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].away = True  # the follower has not noticed
    with pytest.raises(errors.StoreUnavailable):
        select(deployment.worker, asked())
    assert select(deployment.worker, asked(first=1)).partition == "b"


def test_without_any_partition_the_store_is_away():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    deployment.take_away("a")
    deployment.take_away("b")
    with pytest.raises(errors.StoreUnavailable, match="none of the partitions a, b"):
        select(deployment.worker, asked())


def test_what_a_partition_that_went_away_may_hold_is_waited_for():
    deployment = PartitionedDeployment(2, a={"a1": node(ROOMY)}, b={"b1": node()})
    deployment.stores["a"].mute = "prepare"
    with pytest.raises(errors.StoreUnavailable):
        select(deployment.worker, asked())
    deployment.take_away("a")
    for worker in deployment.workers:
        with pytest.raises(errors.StoreUnavailable, match="what it may hold is not over"):
            select(worker, asked())
    deployment.wait(TTL_MS)
    assert select(deployment.worker, asked()).partition == "b"
    deployment.take_away("a", False)
    assert select(deployment.worker, asked()).partition == "b"
    assert deployment.live() == {"vm-0": ["b"]}


def apart(group="g", **more):
    return request({"VCPU": 1}, group=ClaimGroup(group, GroupPolicy.ANTI_AFFINITY), **more)


def test_a_server_group_stays_in_one_partition():
    deployment = PartitionedDeployment(
        2, a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={f"b{number}": node() for number in range(9)}
    )
    assert [select(deployment.workers[number], asked(first=number, asks=apart())).partition for number in range(2)] == [
        "a",
        "a",
    ]
    with pytest.raises(errors.NoValidHost) as caught:
        select(deployment.worker, asked(first=2, asks=apart()))
    assert caught.value.kwargs["reasons"] == {"server group policy": 2, REASON_GROUP: 9}
    assert select(deployment.worker, asked(first=3, asks=apart("another"))).partition == "a"


def test_a_group_whose_partition_is_away_waits_for_it():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    assert select(deployment.worker, asked(asks=apart())).partition == "a"
    deployment.take_away("a")
    deployment.wait(10 * TTL_MS)
    with pytest.raises(errors.StoreUnavailable, match="partition 'a'"):
        select(deployment.worker, asked(first=1, asks=apart()))


def test_a_group_without_members_goes_where_there_is_room():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    select(deployment.worker, asked(asks=apart()))
    deployment.stores["a"].abort([ClaimRef("vm-0", 1)])
    deployment.worker.follow()
    select(deployment.worker, asked(1, first=10, asks=request({"VCPU": 16}, force_hosts=("a1",))))
    assert select(deployment.worker, asked(first=1, asks=apart())).partition == "b"


def test_a_group_is_found_where_its_members_are_when_nothing_is_recorded_any_more():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY), "a2": node(ROOMY)}, b={"b1": node()})
    select(deployment.worker, asked(asks=apart()))
    deployment.stores["a"].confirm("a1", [ClaimRef("vm-0", 1)])
    deployment.stores["a"].confirm("a2", [ClaimRef("vm-0", 1)])
    deployment.wait(GROUP_TTL_MS + 1)
    join(deployment.stores["b"], {"big": node({each: 10 * most for each, most in ROOMY.items()})})
    deployment.worker.follow()
    assert select(deployment.worker, asked(first=1, asks=apart())).partition == "a"


def test_a_record_is_forgotten_after_all_that_it_guards_is_over():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={"b1": node()})
    assert select(deployment.worker, asked()).partition == "a"
    deployment.stores["a"].abort([ClaimRef("vm-0", 1)])
    join(deployment.stores["b"], {"big": node({each: 10 * most for each, most in ROOMY.items()})})
    deployment.worker.follow()
    deployment.wait(PIN_MS - 1)
    with pytest.raises(errors.ClaimEnded) as caught:
        select(deployment.worker, asked())
    assert caught.value.kwargs["partition"] == "a"
    deployment.wait(PIN_MS)
    assert select(deployment.worker, asked(attempt=2)).partition == "b"


def test_a_call_that_holds_something_in_a_partition_is_not_taken_elsewhere():
    deployment = PartitionedDeployment(a={"a1": node(ROOMY)}, b={f"b{number}": node() for number in range(9)})
    select(deployment.worker, asked())
    select(deployment.worker, asked(7, first=20, asks=request(force_hosts=("a1",))))
    with pytest.raises(errors.NoValidHost):
        select(deployment.worker, asked(2))  # vm-0 lives in a, where vm-1 finds no room
    assert deployment.live()["vm-0"] == ["a"]
    assert "vm-1" not in deployment.live()


def test_a_forced_host_that_nobody_knows_is_told_by_name():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    with pytest.raises(errors.UnknownHost, match="c1"):
        select(deployment.worker, asked(asks=request(force_hosts=("c1",))))
    assert select(deployment.worker, asked(asks=request(force_hosts=("b1",)))).partition == "b"


def test_hosts_that_wait_for_their_audit_are_told():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node({"VCPU": 1})})
    deployment.stores["a"].begin_epoch()
    deployment.worker.follow()
    with pytest.raises(errors.NoValidHost) as caught:
        select(deployment.worker, asked())
    assert caught.value.kwargs["reasons"] == {"not audited in this epoch": 1, "not enough VCPU": 1}


def test_a_partition_that_is_not_configured_any_more_is_no_obstacle():
    deployment = PartitionedDeployment(a={"a1": node()}, b={"b1": node()})
    for store in deployment.stores.values():
        store.pin("consumer:vm-0", "gone", 60_000)
    assert select(deployment.worker, asked()).partition in ("a", "b")


def test_verdicts_of_candidates_name_hosts_of_one_partition_only():
    deployment = PartitionedDeployment(a={"a1": node(), "a2": node()}, b={"b1": node(), "b2": node()})
    for number in range(8):
        decided = select(deployment.worker, asked(first=number, alternates=15))
        (verdicts,) = [one.verdicts for one in decided.prepared]
        assert set(verdicts) <= {Verdict.FITS}
        assert {name[0] for name in (decided.prepared[0].host, *decided.prepared[0].alternates)} == {decided.partition}
