# SPDX-License-Identifier: Apache-2.0
"""A conductor and agents that keep the protocol, on stores that must agree with each other and with the truth."""

from dataclasses import dataclass, field, replace
from typing import Any

from rpcapi import errors
from rpcapi.model import names
from rpcapi.model.claims import Answer, GroupPolicy
from scheduler_svc.store.records import (
    Candidate,
    ClaimBatch,
    ClaimGroup,
    ClaimRef,
    ClaimResult,
    Intent,
    IntentResult,
    RunningClaim,
)
from tests.unit.scheduler_svc.store.world import LONG_MS, World, child_stats, node_stats

HOSTS = ("h1", "h2")  # few of each, so that their stories cross
POOL = "h2/pool"  # what h2 shares with h1
CONSUMERS = tuple(f"c{n}" for n in range(3))
GROUPS = (None, ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 1), ClaimGroup("g2", GroupPolicy.AFFINITY))
FINAL = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED)
MIGRATION = "m-"


@dataclass
class Truth:
    """What the cluster's members know: it outlives whatever the store forgets."""

    attempts: dict[str, int] = field(default_factory=dict)  # the conductor's newest attempt of each consumer
    sent: set[tuple[str, ClaimRef]] = field(default_factory=set)  # builds that an agent has and did not decide on yet
    running: dict[ClaimRef, RunningClaim] = field(default_factory=dict)  # guests
    ends: dict[ClaimRef, Answer] = field(default_factory=dict)  # final answers that anybody was given


class ProtocolCluster:
    """The members, and the stores (one, or several that are told the same)."""

    def __init__(self, worlds: list[World]) -> None:
        self.worlds = worlds
        self.truth = Truth()
        self.delayed: list[Any] = []  # messages that may arrive once more
        self.marks: tuple[list[Any], dict[ClaimRef, Answer]] | None = None
        for host in HOSTS:
            self.report(host, 4)
            self.audit(host)
        self.look()

    def each(self, verb: str, *arguments: Any, **named: Any) -> Any:
        """Call a verb of every store, demand that they answer alike, and return the first one's answer."""
        answers = [getattr(world.store, verb)(*arguments, **named) for world in self.worlds]
        assert all(_comparable(answer) == _comparable(answers[0]) for answer in answers), answers
        return answers[0]

    def report(self, host: str, vcpus: int) -> None:
        """Let a host report its size, a GPU in one of two places, and what it shares."""
        parent = host if vcpus % 2 else f"{host}/cell"
        nodes = {
            host: node_stats({"VCPU": vcpus}),
            f"{host}/cell": child_stats(host, {"CUSTOM_CELL": 1}),
            f"{host}/cell/gpu": child_stats(parent, {"CUSTOM_GPU": vcpus // 2}),
        }
        if host == names.host_of(POOL):
            nodes[POOL] = {**node_stats({"DISK_GB": vcpus}), "kind": "volume"}
        for world in self.worlds:
            world.report(host, nodes)

    # -- the conductor -----------------------------------------------------------------------------------------

    def look(self) -> None:
        """Let a decider read the hosts; what it decides on them may come late."""
        self.looks = [world.store.snapshot().position for world in self.worlds]

    def prepare(
        self,
        wishes: dict[str, list[str]],
        vcpus: int,
        group: ClaimGroup | None,
        *,
        near: int = 1,
        late: bool = False,
        spread: bool = False,
    ) -> None:
        """Ask for the next attempt of each consumer, in place of its former one, decided now or at the last look."""
        intents = []
        for consumer, hosts in wishes.items():
            former = self.truth.attempts.get(consumer)
            intents.append(
                Intent(consumer, (former or 0) + 1, [_candidate(host, vcpus, spread) for host in hosts], former, near)
            )
        if not late:
            self.look()
        batches = [
            world.batch(*intents, resources={"VCPU": vcpus}, group=group, position=position)
            for world, position in zip(self.worlds, self.looks, strict=True)
        ]
        answers = self.tell_batch(batches)
        self.delayed.append(("prepare", batches))
        for one in answers.prepared:
            if answers.accepted:
                self.truth.sent.add((one.host, ClaimRef(one.consumer, one.attempt)))
            if answers.accepted or one.answer is Answer.ENDED:
                self.truth.attempts[one.consumer] = one.attempt

    def boot(self, consumer: str, host: str) -> None:
        """Prepare on ``host``, and let its agent confirm at once."""
        self.prepare({consumer: [host]}, 1, None)
        build = (host, ClaimRef(consumer, self.truth.attempts.get(consumer, 0)))
        if build in self.truth.sent:
            self.confirm(*build)

    def tell_batch(self, batches: list[ClaimBatch]) -> Any:
        """Send each store its batch."""
        answers = [world.store.prepare(batch) for world, batch in zip(self.worlds, batches, strict=True)]
        assert all(_comparable(answer) == _comparable(answers[0]) for answer in answers), answers
        return answers[0]

    def abort(self, consumer: str, ahead: int) -> None:
        """Try to end the newest attempt of a consumer, or one that is still to come."""
        ref = ClaimRef(consumer, self.truth.attempts.get(consumer, 0) + ahead or 1)
        self._note(self.each("abort", [ref]))
        self.delayed.append(("abort", [ref]))

    # -- agents ------------------------------------------------------------------------------------------------

    def confirm(self, host: str, ref: ClaimRef) -> None:
        """Let an agent confirm a build that it has, and spawn only when that was confirmed."""
        claim = self._listed(ref)
        (answer,) = self._note(self.each("confirm", host, [ref]))
        self.delayed.append(("confirm", host, [ref]))
        if answer.answer is Answer.CLOSED:
            return
        self.truth.sent.discard((host, ref))
        if answer.answer is Answer.CONFIRMED:
            assert claim is not None
            self.truth.running[ref] = RunningClaim(
                *ref, True, host, claim.allocations, claim.type, claim.project, claim.user, "req-1", claim.group
            )

    def delete(self, ref: ClaimRef) -> None:
        """Let an agent stop a guest, then give its claim back."""
        host = self.truth.running.pop(ref).host
        self._note(self.each("release", host, [ref]))
        self.delayed.append(("release", host, [ref]))

    def move(self, ref: ClaimRef) -> None:
        """Let a guest's claim pass to a migration of its own."""
        self._hand_over(ref, ClaimRef(f"{MIGRATION}{ref.consumer}-{ref.attempt}", 1), "MIGRATION")

    def move_back(self, ref: ClaimRef) -> None:
        """Let a migration's claim pass back to its instance, as the next attempt of that."""
        consumer = ref.consumer.removeprefix(MIGRATION).partition("-")[0]
        if consumer not in {guest.consumer for guest in self.truth.running}:
            to = ClaimRef(consumer, self.truth.attempts.get(consumer, 0) + 1)
            if self._hand_over(ref, to, "INSTANCE"):
                self.truth.attempts[consumer] = to.attempt

    def _hand_over(self, ref: ClaimRef, to: ClaimRef, kind: str) -> bool:
        (answer,) = self._note([self.each("move", ref, to, kind)])
        if answer.answer is Answer.CLOSED:
            return False  # who was told to ask again goes on asking: no message of it is left behind
        self.delayed.append(("move", ref, to, kind))
        if answer.answer is not Answer.CONFIRMED or answer.consumer != to.consumer:
            return False
        guest = self.truth.running.pop(ref)
        self.truth.running[to] = replace(guest, consumer=to.consumer, attempt=to.attempt, type=kind)
        return True

    def lose_guest(self, ref: ClaimRef) -> None:
        """Let a guest vanish without a word: its claim is an orphan."""
        del self.truth.running[ref]

    def audit(self, host: str, *, arrived: bool = True) -> None:
        """Let an agent audit, before or after the builds that were sent to it have ``arrived``."""
        guests = [guest for guest in self.truth.running.values() if guest.host == host]
        waiting = [_waiting(ref, host) for where, ref in sorted(self.truth.sent) if where == host]
        told = [*guests, *waiting] if arrived else guests
        epochs = [world.store.snapshot().epoch for world in self.worlds]
        outcomes = [
            world.store.audit(host, epoch, told, LONG_MS) for world, epoch in zip(self.worlds, epochs, strict=True)
        ]
        assert all(_comparable(outcome.answers) == _comparable(outcomes[0].answers) for outcome in outcomes), outcomes
        self.delayed.append(("audit", host, epochs, told))
        self._note(list(outcomes[0].answers))
        for one, answer in zip(told, outcomes[0].answers, strict=True):
            # Only its own agent ends a guest's claim: whatever was lost, no guest is told to stop.
            assert answer.answer is Answer.CONFIRMED or not one.confirmed, (one, answer)
            if answer.answer is not Answer.PREPARED:
                self.truth.sent.discard((host, ClaimRef(one.consumer, one.attempt)))

    # -- the operator ------------------------------------------------------------------------------------------

    def fence(self, host: str) -> None:
        """Cut a host off with all that runs there, and say so."""
        claims, _marker = self.worlds[0].store.claims(host=host)
        assert self.each("fence", host) == len(claims)
        self._note([ClaimResult(claim.consumer, claim.attempt, Answer.RELEASED) for claim in claims])
        self.truth.sent = {(where, ref) for where, ref in self.truth.sent if where != host}
        self.truth.running = {ref: guest for ref, guest in self.truth.running.items() if guest.host != host}
        assert self.each("fence", host) == 0
        assert all(host not in world.store.verify().awaited for world in self.worlds)

    def remove(self, host: str) -> None:
        """Have a host forgotten, which only one that holds nothing lets happen; then it joins anew."""
        refusals = [self._refusal_of_removing(world, host) for world in self.worlds]
        assert len(set(refusals)) == 1, refusals
        if refusals[0] is None:
            assert not [guest for guest in self.truth.running.values() if guest.host == host], "guests run there"
            self.report(host, 4)
            self.audit(host)

    @staticmethod
    def _refusal_of_removing(world: World, host: str) -> type[errors.Conflict] | None:
        try:
            world.store.remove(host)
        except errors.Conflict as refusal:
            return type(refusal)
        return None

    # -- faults ------------------------------------------------------------------------------------------------

    def deliver_again(self, index: int) -> None:
        """Let a message arrive that was sent before; nobody waits for its answer."""
        verb, *arguments = self.delayed[index]
        if verb == "prepare":
            self.tell_batch(arguments[0])
        elif verb == "audit":
            host, epochs, told = arguments
            for world, epoch in zip(self.worlds, epochs, strict=True):
                world.store.audit(host, epoch, told, LONG_MS)
        elif verb == "move":
            self._note([self.each(verb, *arguments)])
        else:
            self._note(self.each(verb, *arguments))

    def mark(self) -> None:
        """Remember what a replica of the store would hold from here on."""
        self.marks = ([world.mark() for world in self.worlds], dict(self.truth.ends))

    def forget(self) -> None:
        """Lose all since the mark, as a failover to that replica does."""
        assert self.marks is not None
        marks, self.truth.ends = self.marks
        for world, mark in zip(self.worlds, marks, strict=True):
            world.forget_since(mark)
        self.marks = None

    def pass_deadline_of(self, consumer: str) -> None:
        """Let the deadline of a prepared claim pass."""
        claims, _marker = self.worlds[0].store.claims(consumer=consumer)
        if claims and claims[0].state == "prepared":
            for world in self.worlds:
                world.pass_deadline_of(consumer)

    # -- what must hold ----------------------------------------------------------------------------------------

    def check(self) -> None:
        """Demand what holds at any instant."""
        guests = [ref.consumer for ref in self.truth.running]
        assert len(guests) == len(set(guests)), f"a consumer runs twice: {self.truth.running}"
        seen = [world.check() for world in self.worlds]
        assert all(one.claims == seen[0].claims for one in seen)
        assert all(_excess(one.excess) == _excess(seen[0].excess) for one in seen)
        listed = [sorted(map(_without_times, world.store.claims()[0]), key=str) for world in self.worlds]
        assert all(one == listed[0] for one in listed), listed

    def seen(self) -> list[Any]:
        """Return all that the stores tell: what no repeated message may change."""
        return [(world.store.snapshot(), world.store.claims()[0]) for world in self.worlds]

    def over(self) -> dict[tuple[str, str], int]:
        """Return by how much each capacity is exceeded."""
        now = self.worlds[0].store.snapshot()
        found = {}
        for provider, used in now.used.items():
            held = now.providers[provider]["inventories"]
            for name, amount in used.items():
                found[provider, name] = max(0, amount - held[name]["capacity"])
        return found

    def _listed(self, ref: ClaimRef) -> Any:
        claims, _marker = self.worlds[0].store.claims(consumer=ref.consumer)
        return claims[0] if claims and claims[0].attempt == ref.attempt else None

    def _note(self, answers: list[ClaimResult]) -> list[ClaimResult]:
        """Hold every final answer against what was answered before."""
        for one in answers:
            ref = ClaimRef(one.consumer, one.attempt)
            before = self.truth.ends.get(ref)
            assert before is None or one.answer is before, f"{ref} was {before}, and is {one.answer} now"
            if one.answer in FINAL:
                self.truth.ends[ref] = one.answer
        return answers


def _candidate(host: str, vcpus: int, spread: bool) -> Candidate:
    """Return a host to try, for itself or with what is below it and what is shared with it."""
    if not spread:
        return Candidate(host)
    return Candidate(host, {host: {"VCPU": vcpus}, f"{host}/cell/gpu": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": 1}})


def _waiting(ref: ClaimRef, host: str) -> RunningClaim:
    return RunningClaim(*ref, False, host, {host: {"VCPU": 1}}, "INSTANCE", "p", "u", "req-1")


def _without_times(claim: Any) -> Any:
    return replace(claim, created_ms=0, deadline_ms=claim.deadline_ms and 1, orphan_ms=claim.orphan_ms and 1)


def _excess(found: Any) -> list[Any]:
    return [{**one, "since_ms": 0} for one in found]


def _comparable(answer: Any) -> Any:
    """Return an answer without what differs between two stores: epochs, positions and times."""
    if hasattr(answer, "prepared"):
        return (answer.accepted, answer.current, _comparable(answer.prepared), answer.used)
    if isinstance(answer, (list, tuple)) and not isinstance(answer, ClaimRef):
        return [_comparable(one) for one in answer]
    if isinstance(answer, IntentResult):
        return replace(answer, deadline_ms=0, verdicts=tuple(answer.verdicts), alternates=tuple(answer.alternates))
    return answer
