# SPDX-License-Identifier: Apache-2.0
"""Writes that were planned on what another write changes before their script runs."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.allocations import ANY, AllocationChange, ConsumerImport
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    ImportProvider,
    Refusal,
    RefusalKind,
    SetInventories,
    SetTraits,
)
from scheduler_svc.store.records import RunningClaim
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import SMALL, StorePartition

PROVIDER = "@api/" + str(uuid.UUID(int=1))


@pytest.fixture
def partition(redis_server: Any) -> StorePartition:
    partition = redis_partition(redis_server)
    partition.store.change_provider(CreateProvider(PROVIDER, "p"))
    partition.store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(8)}))
    return partition


def run_before(store: RedisStore, script: str, change: Callable[[], object]) -> None:
    """Make a change just before the next run of a script."""
    connection, evaluate = store._connection, store._connection._evaluate

    def changed(loaded: Any, *arguments: Any) -> Any:
        if loaded.name == script:
            connection._evaluate = evaluate  # type: ignore[method-assign]
            change()
        return evaluate(loaded, *arguments)

    connection._evaluate = changed  # type: ignore[method-assign]


def test_generation_that_an_allocation_increased_meanwhile_is_compared(partition: StorePartition) -> None:
    store = partition.store
    assert isinstance(store, RedisStore)
    holding = AllocationChange("c", {PROVIDER: {"VCPU": 1}}, "project", "user", None)
    run_before(store, "commit", lambda: store.allocate([holding]))
    refusal = store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(9)}, 1))
    assert isinstance(refusal, Refusal)
    assert (refusal.kind, refusal.expected, refusal.actual) == (RefusalKind.GENERATION, 1, 2)


def test_imports_whose_names_were_taken_meanwhile_are_refused(partition: StorePartition) -> None:
    store = partition.store
    assert isinstance(store, RedisStore)
    imports = [ImportProvider(f"@api/new-{number}", f"name-{number}", None, {}, [], [], 3, 1, 2) for number in range(3)]
    run_before(store, "commit", lambda: store.change_provider(CreateProvider("@api/other", "name-1")))
    first, second, third = store.import_providers(imports)
    assert (first, third) == (None, None)
    assert second is not None and (second.kind, second.provider) == (RefusalKind.NAME, "@api/other")
    assert set(store.read_providers([change.provider for change in imports])) == {"@api/new-0", "@api/new-2"}
    partition.check()


def test_report_keeps_traits_that_were_added_meanwhile(partition: StorePartition) -> None:
    store = partition.store
    assert isinstance(store, RedisStore)
    partition.add_host("h1")
    run_before(store, "report", lambda: store.change_provider(SetTraits("h1", ["CUSTOM_ADDED"])))
    partition.report("h1", {"h1": {"inventories": {}, "traits": ["CUSTOM_REPORTED"]}})
    assert store.read_providers(["h1"])["h1"].document["traits"] == ["CUSTOM_ADDED", "CUSTOM_REPORTED"]
    partition.check()


def test_generations_begin_at_their_base_in_a_new_epoch(partition: StorePartition) -> None:
    mark = partition.mark()
    partition.store.change_provider(SetInventories(PROVIDER, {}))
    partition.forget_since(mark)
    generations = partition.store.read_generations([PROVIDER, "unknown"])
    assert generations[PROVIDER] == generations["unknown"] > 1


def import_consumer(partition: StorePartition) -> None:
    imported = ConsumerImport("c2", {PROVIDER: {"VCPU": 1}}, "project", "user", "INSTANCE", 3, 1)
    assert partition.store.import_allocations([imported]) is None


def fence_host(partition: StorePartition) -> None:
    assert partition.fence("h1") == 1


def set_traits(partition: StorePartition) -> None:
    state = partition.store.change_provider(SetTraits(PROVIDER, ["CUSTOM_A"]))
    assert not isinstance(state, Refusal)
    assert state.document["traits"] == ["CUSTOM_A"]


@pytest.mark.parametrize("run", [import_consumer, fence_host, set_traits])
def test_other_claims_on_a_provider_do_not_disturb_a_verb(
    partition: StorePartition, run: Callable[[StorePartition], None]
) -> None:
    # given a claim on a host, and another one on the same providers that comes between a verb's reads and its commit
    store = partition.store
    assert isinstance(store, RedisStore)
    partition.add_host("h1")
    partition.hold("c1", "h1")
    other = AllocationChange("c3", {PROVIDER: {"VCPU": 2}, "h1": {"VCPU": 1}}, "project", "user", None)

    def claim() -> None:
        assert store.allocate([other]) is None
        run_before(store, "begin", lambda: pytest.fail("the verb runs again"))

    run_before(store, "commit", claim)
    # when the verb runs, then it does so once, and both count
    run(partition)
    assert partition.used(PROVIDER)["VCPU"] >= 2
    partition.check()


def test_audits_of_other_hosts_do_not_disturb_the_end_of_a_move(partition: StorePartition) -> None:
    # given a new epoch that awaits three hosts
    store = partition.store
    assert isinstance(store, RedisStore)
    for host in ("h1", "h2", "h3"):
        partition.add_host(host)
    partition.hold("c1", "h1")
    epoch = partition.new_epoch()

    def audit() -> None:
        store.audit("h3", epoch, [], 0)
        run_before(store, "begin", lambda: pytest.fail("the verb runs again"))

    run_before(store, "commit", audit)
    # when one of them audits between a verb's reads and its commit, then the verb does not run again
    assert [result.answer for result in store.end_moves([ClaimRef("c1", 1)], ["m"])] == [Answer.CLOSED]


@pytest.mark.parametrize("amount, answer", [(7, Answer.CONFIRMED), (8, Answer.UNVERIFIED)])
def test_audit_runs_again_only_if_a_shared_provider_has_no_room_left(
    partition: StorePartition, amount: int, answer: Answer
) -> None:
    # given a host whose claim on 1 VCPU of a shared provider the store forgot
    store = partition.store
    assert isinstance(store, RedisStore)
    store.change_provider(SetTraits(PROVIDER, [SHARING_TRAIT]))
    partition.add_host("h1")
    epoch = partition.new_epoch()
    claim = RunningClaim("c1", 1, True, "h1", {"h1": SMALL, PROVIDER: {"VCPU": 1}}, "INSTANCE", "p", "u", "r")

    def allocate() -> None:
        change = AllocationChange("c2", {PROVIDER: {"VCPU": amount}}, "project", "user", None)
        assert store.allocate([change]) is None
        if answer is Answer.CONFIRMED:
            run_before(store, "begin", lambda: pytest.fail("the audit runs again"))

    # when another claim takes some of it, or all, before the audit's commit
    run_before(store, "commit", allocate)
    outcome = store.audit("h1", epoch, [claim], 0)
    # then the audit is as if it had come after that
    assert outcome.answers[0].answer is answer
    assert partition.used(PROVIDER) == {"VCPU": 8} and outcome.position == store.snapshot().position
    if answer is Answer.UNVERIFIED:
        assert store.vouch("h1", [ClaimRef("c1", 1)])[0].answer is Answer.CONFLICT
        store.allocate([AllocationChange("c2", {}, "", "", ANY)])
        assert store.vouch("h1", [ClaimRef("c1", 1)])[0].answer is Answer.CONFIRMED
    partition.check()
