# SPDX-License-Identifier: Apache-2.0
"""Final claims: those that the scheduler makes as the Placement API's, where hosts are providers of the API."""

from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, ClaimState, GroupPolicy, Verdict
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimGroup, ClaimRef, GroupMembers, Intent, IntentResult
from scheduler_svc.store.allocations import ANY, AllocationChange, Usage, is_api_claim
from scheduler_svc.store.providers.changes import CreateProvider, DeleteProvider, Refusal, RefusalKind, SetInventories
from tests.support.store.store_partition import SMALL, StorePartition, running

N1, N2, N3, NUMA, POOL = (f"@api/{name}" for name in ("n1", "n2", "n3", "numa", "pool"))
ROOM = {"VCPU": Inventory(4), "MEMORY_MB": Inventory(1024)}


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """A partition with three nodes of the Placement API, a provider below the first, and a pool."""
    partition = make_partition()
    for node in (N1, N2, N3):
        create(partition, node, ROOM)
    create(partition, NUMA, {"SRIOV_NET_VF": Inventory(2)}, parent=N1)
    create(partition, POOL, {"DISK_GB": Inventory(100)})
    return partition


def create(partition: StorePartition, provider: str, inventories: Any, **options: Any) -> None:
    partition.store.change_provider(CreateProvider(provider, provider.removeprefix("@api/"), **options))
    partition.store.change_provider(SetInventories(provider, inventories))


def claim(partition: StorePartition, *intents: Intent, **options: Any) -> BatchAnswer:
    """Make final claims, each time under another request id unless ``options`` name one; check all sums."""
    options = {"request_id": f"req-{partition.store.snapshot().position}", **options}
    answer = partition.store.prepare(partition.batch(*intents, final=True, **options))
    partition.check()
    return answer


def claim_one(partition: StorePartition, consumer: str, *candidates: Any, **options: Any) -> IntentResult:
    answer = claim(partition, Intent(consumer, 1, [to_candidate(item) for item in candidates]), **options)
    return answer.prepared[0]


def to_candidate(item: Any) -> Candidate:
    return item if isinstance(item, Candidate) else Candidate(item)


def put(partition: StorePartition, consumer: str, allocations: Any, generation: Any = ANY) -> Refusal | None:
    return partition.store.allocate([AllocationChange(consumer, allocations, "p", "u", generation)])


def allocations_of(partition: StorePartition, consumer: str) -> Any:
    state = partition.store.read_allocations([consumer]).get(consumer)
    return None if state is None else (state.generation, state.allocations)


def provider_generation(partition: StorePartition, provider: str) -> int:
    return partition.store.read_generations([provider])[provider]


def test_claim_of_a_new_consumer_is_an_allocation_from_the_beginning(partition: StorePartition) -> None:
    before = provider_generation(partition, N1)
    result = claim_one(partition, "c1", N1, N2, request_id="req-1", consumer_type="INSTANCE")
    assert (result.answer, result.host, result.deadline_ms) == (Answer.PREPARED, N1, None)
    assert tuple(result.alternates) == (N2,)
    (state,) = partition.store.read_allocations(["c1"]).values()
    assert (state.generation, state.allocations, is_api_claim(state)) == (1, {N1: SMALL}, True)
    assert provider_generation(partition, N1) == before + 1
    claims, _ = partition.store.claims(consumer="c1")
    assert [(item.state, item.host, item.request_id) for item in claims] == [(ClaimState.CONFIRMED, N1, "req-1")]
    assert partition.store.usages("p", None, None) == {"INSTANCE": Usage(1, SMALL)}


def test_claims_are_of_the_project_and_user_of_the_batch(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1, project="p2", user="u2")
    state = partition.store.read_allocations(["c1"])["c1"]
    assert (state.project, state.user) == ("p2", "u2")


def test_clients_change_and_end_it_by_the_generation_that_they_expect(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1)
    refusal = put(partition, "c1", {N2: SMALL}, None)
    assert refusal is not None
    assert refusal.kind is RefusalKind.CONSUMER
    assert put(partition, "c1", {N2: SMALL}, 1) is None
    assert allocations_of(partition, "c1") == (2, {N2: SMALL})
    assert put(partition, "c1", {}) is None
    assert allocations_of(partition, "c1") is None
    assert partition.used(N1) == partition.used(N2) == {}
    partition.check()


def test_providers_show_it_and_are_not_deleted_under_it(partition: StorePartition) -> None:
    claim_one(partition, "c1", Candidate(N1, {N1: SMALL, NUMA: {"SRIOV_NET_VF": 1}}))
    for provider in (N1, NUMA):
        holders, _ = partition.store.list_holders(provider)
        assert [state.consumer for state in holders] == ["c1"]
    refusal = partition.store.change_provider(DeleteProvider(NUMA))
    assert isinstance(refusal, Refusal)
    assert refusal.kind is RefusalKind.IN_USE


def test_listed_by_node_and_by_the_service_host_of_the_api(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1)
    put(partition, "c2", {N2: SMALL})
    for host, expected in ((N1, ["c1"]), ("@api", ["c1", "c2"])):
        claims, _ = partition.store.claims(host=host)
        assert sorted(item.consumer for item in claims) == expected


def test_consumer_that_holds_something_keeps_it_and_gains_the_destination(partition: StorePartition) -> None:
    put(partition, "c1", {N1: {"VCPU": 3, "MEMORY_MB": 64}, POOL: {"DISK_GB": 70}})
    candidate = Candidate(N2, {N2: SMALL, POOL: {"DISK_GB": 70}})
    result = claim_one(partition, "c1", candidate)  # the pool has no room for it twice
    assert (result.answer, result.host) == (Answer.PREPARED, N2)
    expected = {N1: {"VCPU": 3, "MEMORY_MB": 64}, N2: SMALL, POOL: {"DISK_GB": 70}}
    assert result.allocations == expected
    assert allocations_of(partition, "c1") == (2, expected)
    assert partition.used(POOL) == {"DISK_GB": 70}


def test_consumer_gains_nothing_on_a_host_that_it_holds_from(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1)
    result = claim_one(partition, "c1", N1)
    assert (result.answer, result.host) == (Answer.PREPARED, N1)
    assert allocations_of(partition, "c1") == (2, {N1: SMALL})
    assert partition.used(N1) == SMALL


def test_refused_claim_leaves_what_the_consumer_holds(partition: StorePartition) -> None:
    put(partition, "c1", {N1: SMALL})
    put(partition, "c2", {N2: {"VCPU": 4}})
    before = partition.store.snapshot()
    result = claim_one(partition, "c1", N2)
    assert (result.answer, tuple(result.verdicts)) == (Answer.REFUSED, (Verdict.FULL,))
    assert allocations_of(partition, "c1") == (1, {N1: SMALL})
    assert partition.store.snapshot() == before


def test_repeated_request_gets_the_recorded_answer_and_another_one_a_claim(partition: StorePartition) -> None:
    first = claim_one(partition, "c1", N1, N2, request_id="req-1")
    before = partition.store.snapshot()
    repeated = claim_one(partition, "c1", N2, N3, request_id="req-1")
    assert (repeated.answer, repeated.host, repeated.alternates) == (first.answer, N1, first.alternates)
    assert partition.store.snapshot() == before
    assert claim_one(partition, "c1", N2, N3, request_id="req-2").host == N2


def test_batch_is_claimed_whole_or_not_at_all(partition: StorePartition) -> None:
    large = {"VCPU": 3, "MEMORY_MB": 64}
    intents = [Intent(f"c{number}", 1, [Candidate(N1), Candidate(N2)]) for number in range(3)]
    answer = claim(partition, *intents, resources=large)
    assert not answer.accepted
    assert partition.store.read_allocations(["c0", "c1", "c2"]) == {}
    assert claim(partition, *intents[:2], resources=large).accepted


def test_claim_of_an_agent_is_not_touched(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    assert claim_one(partition, "c1", N1).answer is Answer.CONFLICT
    assert claim_one(partition, "c2", N1).answer is Answer.PREPARED
    assert partition.prepare("c2", "h1").answer is Answer.CONFLICT


def test_consumer_with_an_unverified_claim_gets_none(partition: StorePartition) -> None:
    partition.add_host("h1")
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [running(ClaimRef("c1", 2), "h1")], 0)
    assert claim_one(partition, "c1", N1).answer is Answer.CLOSED


def test_agents_verbs_do_not_end_or_move_it(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1)
    (aborted,) = partition.store.abort([ClaimRef("c1", 1)])
    assert aborted.answer is Answer.CONFIRMED
    assert partition.store.begin_moves([ClaimRef("c1", 1)], ["m1"])[0].answer is Answer.FOREIGN
    assert allocations_of(partition, "c1") == (1, {N1: SMALL})


def test_generations_do_not_repeat_in_a_new_epoch(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1)
    generation, _ = allocations_of(partition, "c1")
    partition.new_epoch()
    assert claim_one(partition, "c2", N1).answer is Answer.PREPARED  # nobody audits these hosts
    assert allocations_of(partition, "c2")[0] > generation
    later = allocations_of(partition, "c1")[0]
    claim_one(partition, "c1", N2)
    assert allocations_of(partition, "c1")[0] == later + 1


ANTI = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY)
AFFINITY = ClaimGroup("g1", GroupPolicy.AFFINITY)


def host_of(partition: StorePartition, consumer: str, *hosts: str, **options: Any) -> str | None:
    return claim_one(partition, consumer, *hosts, **options).host


def test_anti_affinity_counts_claims_of_members_that_name_no_group(partition: StorePartition) -> None:
    put(partition, "m1", {N1: SMALL})
    put(partition, "m2", {NUMA: {"SRIOV_NET_VF": 1}})  # below the first node
    put(partition, "m3", {N2: SMALL})
    for members, expected in ((("m1",), N2), (("m2",), N2), (("m1", "m3"), N3), ((), N1)):
        options = {"group": ANTI, "group_members": GroupMembers(members)}
        assert host_of(partition, "c1", N1, N2, N3, **options) == expected
        put(partition, "c1", {})


def test_anti_affinity_counts_hosts_that_the_caller_names_once(partition: StorePartition) -> None:
    two = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)
    put(partition, "m1", {N1: SMALL})
    members = GroupMembers(("m1",), (N1,))
    assert host_of(partition, "c1", N1, N2, group=ANTI, group_members=GroupMembers((), (N1,))) == N2
    assert host_of(partition, "c2", N1, N2, group=two, group_members=members) == N1
    assert host_of(partition, "c3", N1, N2, group=two, group_members=members) == N2


def test_member_whose_claim_names_the_group_counts_once(partition: StorePartition) -> None:
    two = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)
    claim_one(partition, "m1", N1, group=two)
    assert host_of(partition, "c1", N1, N2, group=two, group_members=GroupMembers(("m1",), (N1,))) == N1


def test_consumer_does_not_count_for_itself(partition: StorePartition) -> None:
    claim_one(partition, "tagged", N1, group=AFFINITY)
    put(partition, "plain", {N2: SMALL})
    for consumer in ("tagged", "plain"):
        members = GroupMembers((consumer,))
        group = ClaimGroup("g1" if consumer == "tagged" else "g2", GroupPolicy.AFFINITY)
        assert host_of(partition, consumer, N3, group=group, group_members=members) == N3
    assert partition.store.group_hosts("g1") == {N3: 1}


def test_affinity_requires_a_host_of_any_member(partition: StorePartition) -> None:
    put(partition, "m1", {N2: SMALL})
    options = {"group": AFFINITY, "group_members": GroupMembers(("m1",))}
    assert tuple(claim_one(partition, "c1", N1, **options).verdicts) == (Verdict.GROUP,)
    assert host_of(partition, "c1", N1, N2, **options) == N2
    assert host_of(partition, "c2", N1, N3, group=AFFINITY, group_members=GroupMembers((), (N3,))) == N3


def test_policy_holds_within_one_request(partition: StorePartition) -> None:
    candidates = [Candidate(node) for node in (N1, N2, N3)]
    intents = [Intent(f"c{number}", 1, candidates) for number in range(4)]
    assert not claim(partition, *intents, group=ANTI).accepted
    two = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)
    assert [result.host for result in claim(partition, *intents, group=two).prepared] == [N1, N1, N2, N2]


def test_put_by_a_client_ends_the_membership(partition: StorePartition) -> None:
    claim_one(partition, "c1", N1, group=ANTI)
    put(partition, "c1", {N2: SMALL}, 1)
    assert partition.store.group_hosts("g1") == {}
    partition.check()


@pytest.mark.parametrize("tagged", [True, False])
def test_migration_that_takes_over_a_members_claim_is_no_member(partition: StorePartition, tagged: bool) -> None:
    """Given a resize of a member: its source counts while Nova names that host, and its destination at once.

    Nova's filters count instances by their host, and no migrations: after the resize the source is free for others.
    """
    if tagged:
        claim_one(partition, "m1", N1, group=ANTI)
    else:
        put(partition, "m1", {N1: SMALL})
    moved = [AllocationChange("m1", {}, "p", "u", 1), AllocationChange("migration", {N1: SMALL}, "p", "u", None)]
    assert partition.store.allocate(moved) is None
    assert partition.store.group_hosts("g1") == {}
    resize = {"group": ANTI, "group_members": GroupMembers(("m1",), (N1,))}
    assert host_of(partition, "m1", N1, N2, **resize) == N2
    named_source = {"group": ANTI, "group_members": GroupMembers(("m1",), (N1,))}
    assert host_of(partition, "c1", N1, N2, N3, **named_source) == N3
    put(partition, "c1", {})
    named_destination = {"group": ANTI, "group_members": GroupMembers(("m1",), (N2,))}
    assert host_of(partition, "c2", N2, N1, N3, **named_destination) == N1
    put(partition, "c2", {})
    # The resize is reverted: the claim goes back to the instance, under no group, and counts by its consumer.
    generation = allocations_of(partition, "m1")[0]
    reverted = [
        AllocationChange("migration", {}, "p", "u", 1),
        AllocationChange("m1", {N1: SMALL}, "p", "u", generation),
    ]
    assert partition.store.allocate(reverted) is None
    assert host_of(partition, "c3", N1, N2, group=ANTI, group_members=GroupMembers(("m1",))) == N2
    partition.check()


def test_migrations_do_not_fill_the_limit_of_a_host(partition: StorePartition) -> None:
    two = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)
    put(partition, "m1", {N1: SMALL})
    for number in range(2):
        put(partition, f"migration{number}", {N1: SMALL})
    options = {"group": two, "group_members": GroupMembers(("m1",), (N1,))}
    assert host_of(partition, "c1", N1, N2, **options) == N1
    assert host_of(partition, "c2", N1, N2, **options) == N2


def test_hosts_of_claims_that_clients_wrote_are_roots(partition: StorePartition) -> None:
    put(partition, "c1", {NUMA: {"SRIOV_NET_VF": 1}})
    claim_one(partition, "c2", N2)
    assert partition.store.hosts_of(["c1", "c2", "c3"]) == {"c1": N1, "c2": N2}


@pytest.mark.parametrize("members", [GroupMembers(("a b",)), GroupMembers((), ("",)), GroupMembers(("c",) * 1001)])
def test_invalid_members_are_refused(partition: StorePartition, members: GroupMembers) -> None:
    with pytest.raises((errors.InvalidRequest, errors.InvalidName)):
        claim_one(partition, "c1", N1, group=ANTI, group_members=members)
