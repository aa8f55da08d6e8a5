# SPDX-License-Identifier: Apache-2.0
"""A model of conductor and agents that follow the protocol, on stores that must agree with each other and the model."""

import uuid
from dataclasses import replace
from typing import Any

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.claims import Answer, ClaimRole, GroupPolicy
from scheduler_svc.core.records import (
    CLAIM_COUNTS,
    UNLIMITED,
    Candidate,
    ClaimBatch,
    ClaimGroup,
    ClaimLimits,
    ClaimRef,
    ClaimResult,
    Intent,
)
from scheduler_svc.store.records import RunningClaim
from tests.support.simulation.protocol_answers import comparable, timeless, timeless_excess
from tests.support.simulation.protocol_truth import Truth
from tests.support.store.store_partition import LONG_MS, StorePartition, child_stats, node_stats

HOSTS = ("h1", "h2")  # few of each, so that they interact
POOL = "h2/pool"  # shared by h2 with h1
CONSUMERS = tuple(f"c{n}" for n in range(3))
GROUPS = (None, ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 1), ClaimGroup("g2", GroupPolicy.AFFINITY))
FINAL = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.FENCED)
MIGRATION = "m-"


class ProtocolCluster:
    """The model's members, and the stores (one, or several that get the same calls)."""

    def __init__(self, partitions: list[StorePartition]) -> None:
        self.partitions = partitions
        self.truth = Truth()
        self.sources: dict[str, tuple[ClaimRef, str]] = {}  # by consumer: the source of its move, and the migration
        self.moves = 0
        self.delayed: list[Any] = []  # messages that may be delivered again
        self.marks: tuple[list[Any], dict[ClaimRef, Answer]] | None = None
        for host in HOSTS:
            self.report(host, 4)
            self.audit(host)
        self.take_positions()

    def call_all(self, verb: str, *arguments: Any, **keywords: Any) -> Any:
        """Call a verb of every store, assert that the answers are equal, and return the first one."""
        answers = [getattr(partition.store, verb)(*arguments, **keywords) for partition in self.partitions]
        assert all(comparable(answer) == comparable(answers[0]) for answer in answers), answers
        return answers[0]

    def report(self, host: str, vcpus: int, **metrics: int) -> None:
        """Report a host's metrics and size, a GPU in one of two places, and its shared pool."""
        parent = host if vcpus % 2 else f"{host}/cell"
        nodes = {
            host: {**node_stats({"VCPU": vcpus}), "metrics": metrics},
            f"{host}/cell": child_stats(host, {"CUSTOM_CELL": 1}),
            f"{host}/cell/gpu": child_stats(parent, {"CUSTOM_GPU": vcpus // 2}),
        }
        if host == names.host_of(POOL):
            nodes[POOL] = {**node_stats({"DISK_GB": vcpus}), "kind": "volume"}
        for partition in self.partitions:
            partition.report(host, nodes)

    # -- the conductor -----------------------------------------------------------------------------------------

    def take_positions(self) -> None:
        """Record the stores' positions, as a scheduler worker that may decide on them later."""
        self.positions = [partition.store.snapshot().position for partition in self.partitions]

    def prepare(
        self,
        hosts_by_consumer: dict[str, list[str]],
        vcpus: int,
        group: ClaimGroup | None,
        *,
        near: int = 1,
        is_late: bool = False,
        spread: bool = False,
        limits: ClaimLimits = UNLIMITED,
    ) -> None:
        """Prepare each consumer's next attempt, replacing its former one, at the current or the recorded position."""
        intents = []
        for consumer, hosts in hosts_by_consumer.items():
            former = self.truth.attempts.get(consumer)
            source, migration = self.sources.get(consumer, (None, None))
            candidates = [replace(_candidate(host, vcpus, spread), limits=limits) for host in hosts]
            intents.append(
                Intent(
                    *(consumer, (former or 0) + 1, candidates, former, near),
                    migration=migration,
                    source_attempt=None if source is None else source.attempt,
                )
            )
        if not is_late:
            self.take_positions()
        batches = [
            partition.batch(*intents, resources={"VCPU": vcpus}, group=group, position=position)
            for partition, position in zip(self.partitions, self.positions, strict=True)
        ]
        answers = self.send_batch(batches)
        self.delayed.append(("prepare", batches))
        for result in answers.prepared:
            if answers.accepted:
                self.truth.sent.add((result.host, ClaimRef(result.consumer, result.attempt)))
            if answers.accepted or result.answer is Answer.ENDED:
                self.truth.attempts[result.consumer] = result.attempt

    def boot(self, consumer: str, host: str) -> None:
        """Prepare on ``host``, and let its agent confirm immediately."""
        self.prepare({consumer: [host]}, 1, None)
        build = (host, ClaimRef(consumer, self.truth.attempts.get(consumer, 0)))
        if build in self.truth.sent:
            self.confirm(*build)

    def send_batch(self, batches: list[ClaimBatch]) -> Any:
        """Send each store its batch."""
        answers = [partition.store.prepare(batch) for partition, batch in zip(self.partitions, batches, strict=True)]
        assert all(comparable(answer) == comparable(answers[0]) for answer in answers), answers
        return answers[0]

    def abort(self, consumer: str, ahead: int) -> None:
        """Abort the latest attempt of a consumer, or one that does not exist yet."""
        ref = ClaimRef(consumer, self.truth.attempts.get(consumer, 0) + ahead or 1)
        self._note(self.call_all("abort", [ref]))
        self.delayed.append(("abort", [ref]))

    # -- agents ------------------------------------------------------------------------------------------------

    def confirm(self, host: str, ref: ClaimRef) -> None:
        """Let an agent confirm a build, and spawn it only if the claim was confirmed."""
        claim = self._find_claim(ref)
        (answer,) = self._note(self.call_all("confirm", host, [ref]))
        self.delayed.append(("confirm", host, [ref]))
        if answer.answer is Answer.CLOSED:
            return
        self.truth.sent.discard((host, ref))
        if answer.answer is Answer.CONFIRMED:
            assert claim is not None
            guest = RunningClaim(
                *ref, True, host, claim.allocations, claim.type, claim.project, claim.user, "req-1", claim.group
            )
            source, migration = self.sources.get(ref.consumer, (None, None))
            if source is not None:  # its build message says so
                guest = replace(guest, role=ClaimRole.DESTINATION, migration=migration, source_attempt=source.attempt)
            self.truth.running[ref] = guest

    def delete(self, ref: ClaimRef) -> None:
        """Let an agent stop a guest, then release its claim."""
        host = self.truth.running.pop(ref).host
        self._note(self.call_all("release", host, [ref]))
        self.delayed.append(("release", host, [ref]))

    def move(self, ref: ClaimRef, *, is_noticed: bool = True) -> None:
        """Make a guest the source of a migration; its agent journals that at once, or ``is_noticed`` False: not yet."""
        if ref.consumer in self.sources:
            return
        self.moves += 1
        migration = f"{MIGRATION}{self.moves}"
        (answer,) = self._note(self.call_all("begin_moves", [ref], [migration]))
        if answer.answer is Answer.CLOSED:
            return
        self.delayed.append(("begin_moves", [ref], [migration]))
        if answer.answer is Answer.CONFIRMED:
            self.sources[ref.consumer] = (ref, migration)
            if is_noticed:
                self._give_role(ref, ClaimRole.SOURCE, migration)

    def move_back(self, consumer: str) -> None:
        """Make the source of a move the only claim again, unless its destination runs."""
        ref, migration = self.sources[consumer]
        if any(guest.consumer == consumer and guest != ref for guest in self.truth.running):
            return
        (answer,) = self._note(self.call_all("end_moves", [ref], [migration]))
        if answer.answer is Answer.CLOSED:
            return
        self.delayed.append(("end_moves", [ref], [migration]))
        if answer.answer is not Answer.CONFLICT:
            del self.sources[consumer]
            if ref in self.truth.running:
                self._give_role(ref, ClaimRole.ONLY, None)

    def _give_role(self, ref: ClaimRef, role: ClaimRole, migration: str | None) -> None:
        """Let an agent journal the role of a guest's claim."""
        self.truth.running[ref] = replace(self.truth.running[ref], role=role, migration=migration, source_attempt=None)

    def lose_guest(self, ref: ClaimRef) -> None:
        """Remove a guest without a message: its claim becomes an orphan."""
        del self.truth.running[ref]

    def audit(self, host: str, *, arrived: bool = True) -> None:
        """Let an agent audit, before or after the builds sent to it have ``arrived``."""
        guests = [guest for guest in self.truth.running.values() if guest.host == host]
        waiting = [_waiting(ref, host) for where, ref in sorted(self.truth.sent) if where == host]
        reported = [*guests, *waiting] if arrived else guests
        epochs = [partition.store.snapshot().epoch for partition in self.partitions]
        outcomes = [
            partition.store.audit(host, epoch, reported, LONG_MS)
            for partition, epoch in zip(self.partitions, epochs, strict=True)
        ]
        assert all(comparable(outcome.answers) == comparable(outcomes[0].answers) for outcome in outcomes), outcomes
        self.delayed.append(("audit", host, epochs, reported))
        self._note(list(outcomes[0].answers))
        for instance, answer in zip(reported, outcomes[0].answers, strict=True):
            # Only its own agent ends a guest's claim: whatever data was lost, no guest is stopped.
            assert answer.answer is Answer.CONFIRMED or not instance.confirmed, (instance, answer)
            if answer.answer is not Answer.PREPARED:
                self.truth.sent.discard((host, ClaimRef(instance.consumer, instance.attempt)))

    # -- the operator ------------------------------------------------------------------------------------------

    def fence(self, host: str) -> None:
        """Fence a host with all guests on it."""
        claims, _marker = self.partitions[0].store.claims(host=host)
        token = uuid.uuid4().hex
        assert self.call_all("fence", host, token, force=True) == len(claims)
        self._note([ClaimResult(*claim.ref, Answer.FENCED) for claim in claims])
        self.truth.sent = {(where, ref) for where, ref in self.truth.sent if where != host}
        self.truth.running = {ref: guest for ref, guest in self.truth.running.items() if guest.host != host}
        assert self.call_all("fence", host, token) == len(claims)
        assert all(host not in partition.store.verify().awaited for partition in self.partitions)

    def remove(self, host: str) -> None:
        """Remove a host, which succeeds only without claims; then register it again."""
        refusals = [self._refusal_of_removing(partition, host) for partition in self.partitions]
        assert len(set(refusals)) == 1, refusals
        if refusals[0] is None:
            assert not [guest for guest in self.truth.running.values() if guest.host == host], "guests run on the host"
            self.report(host, 4)
            self.audit(host)

    @staticmethod
    def _refusal_of_removing(partition: StorePartition, host: str) -> type[errors.Conflict] | None:
        try:
            partition.store.remove(host)
        except errors.Conflict as refusal:
            return type(refusal)
        return None

    # -- faults ------------------------------------------------------------------------------------------------

    def deliver_again(self, index: int) -> None:
        """Deliver an earlier message again; its answer is ignored."""
        verb, *arguments = self.delayed[index]
        if verb == "prepare":
            self.send_batch(arguments[0])
        elif verb == "audit":
            host, epochs, reported = arguments
            for partition, epoch in zip(self.partitions, epochs, strict=True):
                partition.store.audit(host, epoch, reported, LONG_MS)
        else:
            self._note(self.call_all(verb, *arguments))

    def mark(self) -> None:
        """Record the stores' state, as a lagging replica of the store would have it."""
        self.marks = ([partition.mark() for partition in self.partitions], dict(self.truth.ends))

    def forget(self) -> None:
        """Restore the recorded state, as a failover to that replica does."""
        assert self.marks is not None
        marks, self.truth.ends = self.marks
        for partition, mark in zip(self.partitions, marks, strict=True):
            partition.forget_since(mark)
        self.marks = None

    def pass_deadline_of(self, consumer: str) -> None:
        """Let a prepared claim expire."""
        claims, _marker = self.partitions[0].store.claims(consumer=consumer)
        if any(claim.state == "prepared" for claim in claims):
            for partition in self.partitions:
                partition.pass_deadline_of(consumer)

    # -- what must hold ----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Assert the invariants."""
        sources = {ref for ref, _migration in self.sources.values()}
        guests = [ref.consumer for ref in self.truth.running if ref not in sources]
        assert len(guests) == len(set(guests)), f"a consumer runs twice: {self.truth.running}"
        verifications = [partition.check() for partition in self.partitions]
        assert all(item.claims == verifications[0].claims for item in verifications)
        assert all(timeless_excess(item.excess) == timeless_excess(verifications[0].excess) for item in verifications)
        listed = [sorted(map(timeless, partition.store.claims()[0]), key=str) for partition in self.partitions]
        assert all(item == listed[0] for item in listed), listed

    def read_all(self) -> list[Any]:
        """Return the stores' contents, which no repeated message may change."""
        return [(partition.store.snapshot(), partition.store.claims()[0]) for partition in self.partitions]

    def excess_amounts(self) -> dict[tuple[str, str], int]:
        """Return by how much each capacity is exceeded, by (provider, class)."""
        now = self.partitions[0].store.snapshot()
        excess = {}
        for provider, used in now.used.items():
            inventories = now.providers[provider]["inventories"]
            for name in used.keys() - CLAIM_COUNTS:
                excess[provider, name] = max(0, used[name] - inventories[name]["capacity"])
        return excess

    def _find_claim(self, ref: ClaimRef) -> Any:
        claims, _marker = self.partitions[0].store.claims(consumer=ref.consumer)
        return next((claim for claim in claims if claim.ref == ref), None)

    def _note(self, answers: list[ClaimResult]) -> list[ClaimResult]:
        """Assert that no final answer contradicts an earlier one."""
        for ended in answers:
            ref = ClaimRef(ended.consumer, ended.attempt)
            before = self.truth.ends.get(ref)
            assert before is None or ended.answer is before, f"{ref} was {before}, and is {ended.answer} now"
            if ended.answer in FINAL:
                self.truth.ends[ref] = ended.answer
        return answers


def _candidate(host: str, vcpus: int, spread: bool) -> Candidate:
    """Return a candidate on the host alone, or also on its child and a shared provider."""
    if not spread:
        return Candidate(host)
    return Candidate(host, {host: {"VCPU": vcpus}, f"{host}/cell/gpu": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": 1}})


def _waiting(ref: ClaimRef, host: str) -> RunningClaim:
    return RunningClaim(*ref, False, host, {host: {"VCPU": 1}}, "INSTANCE", "p", "u", "req-1")
