# SPDX-License-Identifier: Apache-2.0
"""A fence of many claims is several steps, the same ones in each store, between which other verbs run."""

from collections.abc import Callable
from typing import Any

import pytest

from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.verbs import fencing
from tests.support.store.store_partition import LONG_MS, StorePartition, running

HUGE = {"VCPU": 2000, "MEMORY_MB": 200_000}


class CallLost(Exception):
    """Raised when the fence is interrupted."""


def audit(partition: StorePartition, host: str, *claims):
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, LONG_MS)


def fence_by_steps(
    monkeypatch: pytest.MonkeyPatch, partition: StorePartition, batch: int, between: Callable[[], None]
) -> list[int | None]:
    """Let fences take steps of ``batch`` claims, with ``between`` after each; return the list of the steps' answers."""
    answers = []
    run = partition.store._run

    def step(verb: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        answer = run(verb, *arguments, **options)
        if verb is fencing.fence:
            answers.append(answer)
            if answer is None:
                between()
        return answer

    monkeypatch.setattr(fencing, "FENCE_BATCH", batch)
    monkeypatch.setattr(partition.store, "_run", step)
    return answers


@pytest.fixture
def three_claims(partition: StorePartition) -> StorePartition:
    """A partition with hosts h1, which holds c0 to c2, and h2."""
    for host in ("h1", "h2"):
        partition.add_host(host)
    for number in range(3):
        partition.hold(f"c{number}", "h1")
    return partition


@pytest.mark.parametrize("count", [500, 501, 1000])
def test_fence_of_any_number_of_claims_ends_all_of_them_alike(partition: StorePartition, count: int) -> None:
    # Given a host with that many confirmed claims, of which the last is past its deadline, and an awaited host
    partition.add_host("h1", amounts=HUGE, opened=False)
    for host in ("h2", "away"):
        partition.add_host(host, amounts=HUGE)
    refs = [ClaimRef(f"c{number:04}", 1) for number in range(count)]
    audit(partition, "h1", *(running(ref, "h1") for ref in refs[:-1]))
    partition.new_epoch()
    audit(partition, "h2")
    audit(partition, "h1", *(running(ref, "h1") for ref in refs[:-1]))
    partition.prepare(refs[-1].consumer, "h1", ttl_ms=LONG_MS)
    partition.pass_deadline_of(refs[-1].consumer)
    before = partition.store.snapshot().position
    # When it is fenced, and fenced again by the same call
    assert partition.store.fence("h1", "token-1", force=True) == count - 1
    assert partition.store.fence("h1", "token-1", force=True) == count - 1
    # Then each claim has ended as it does in a small fence, and the host is closed by one entry in the log
    answers = [result.answer for part in (refs[:500], refs[500:]) for result in partition.store.find(part)]
    assert answers == [Answer.FENCED] * (count - 1) + [Answer.EXPIRED]
    assert partition.used("h1") == {} and partition.states() == {}
    kinds = [entry.kind for entry in partition.store.follow(before, 0) or ()]
    assert kinds.count("opened") == 1
    # And a conductor that knows of each consumer that it ran nowhere else does not wait for the host that is away
    for ref in (refs[0], refs[-2]):
        assert partition.prepare(ref.consumer, "h2", attempt=2, fresh=False).answer is Answer.CLOSED
        assert partition.prepare(ref.consumer, "h2", attempt=2, fresh=True).answer is Answer.PREPARED
    partition.check()


def test_host_takes_and_confirms_no_claims_between_two_steps(
    three_claims: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = three_claims
    partition.prepare("c3", "h1")

    def between() -> None:
        assert partition.prepare("new", "h1").verdicts == (Verdict.CLOSED,)
        assert partition.store.confirm("h1", [ClaimRef("c3", 1)])[0].answer is Answer.CLOSED

    answers = fence_by_steps(monkeypatch, partition, 1, between)
    assert partition.store.fence("h1", "token-1", force=True) == 4
    assert answers == [None, None, None, 4]
    partition.check()


def test_claim_that_ends_between_two_steps_is_not_counted(
    three_claims: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = three_claims
    fence_by_steps(monkeypatch, partition, 1, lambda: partition.store.release("h1", [ClaimRef("c2", 1)]) and None)
    assert partition.store.fence("h1", "token-1", force=True) == 2
    answers = [result.answer for result in partition.store.find([ClaimRef(f"c{number}", 1) for number in range(3)])]
    assert answers == [Answer.FENCED, Answer.FENCED, Answer.RELEASED]
    partition.check()


@pytest.mark.parametrize("is_new_epoch", [False, True])
def test_fence_ends_where_its_host_audits_between_two_steps(
    three_claims: StorePartition, monkeypatch: pytest.MonkeyPatch, is_new_epoch: bool
) -> None:
    partition = three_claims
    rest = [running(ClaimRef(f"c{number}", 1), "h1") for number in (1, 2)]

    def between() -> None:
        audit(partition, "h1", *rest)
        partition.hold("newer", "h1")
        if is_new_epoch:
            partition.new_epoch()

    answers = fence_by_steps(monkeypatch, partition, 1, between)
    assert partition.store.fence("h1", "token-1", force=True) == 1
    assert answers == [None, 1]
    assert set(partition.states()) == {"c1", "c2", "newer"}
    partition.check()


def test_fence_goes_on_in_a_new_epoch(three_claims: StorePartition, monkeypatch: pytest.MonkeyPatch) -> None:
    partition = three_claims
    epochs = []

    def between() -> None:
        if not epochs:
            epochs.append(partition.new_epoch())
        else:
            assert "h1" in partition.store.verify().awaited

    fence_by_steps(monkeypatch, partition, 1, between)
    assert partition.store.fence("h1", "token-1", force=True) == 3
    # What it ended in the new epoch may not have been its consumer's newest attempt
    answers = [partition.prepare(f"c{n}", "h2", attempt=2, fresh=False).answer for n in range(3)]
    assert answers == [Answer.CLOSED] * 3
    assert list(partition.store.verify().awaited) == ["h2"]
    partition.check()


def test_interrupted_fence_is_continued_by_its_token(
    three_claims: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = three_claims

    def between() -> None:
        raise CallLost

    fence_by_steps(monkeypatch, partition, 1, between)
    with pytest.raises(CallLost):
        partition.store.fence("h1", "token-1", force=True)
    assert set(partition.states()) == {"c1", "c2"}
    fence_by_steps(monkeypatch, partition, 5, between)
    assert partition.store.fence("h1", "token-1", force=True) == 3
    assert partition.states() == {}
    # And once the host has returned, the same call ends nothing
    audit(partition, "h1")
    partition.hold("newer", "h1")
    assert partition.store.fence("h1", "token-1", force=True) == 3
    assert partition.states() == {"newer": "confirmed"}
    partition.check()
