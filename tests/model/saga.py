# SPDX-License-Identifier: Apache-2.0
"""The conductor's steps: each calls verbs, may send one message, and writes the record. See conductor/saga."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.model import reports, verbs
from tests.model import transitions as to
from tests.model.agents import POST_COPY, journalled
from tests.model.rules import holds
from tests.model.state import ALIVE, FOREIGN, NOWHERE, OPEN, Message, Migration, Record, State, Store

ENDED = frozenset({"aborted", "expired", "released", "fenced", "ended", "unknown"})
MAX_ATTEMPTS = 3
UNDECIDED = ("closed", "prepared")
# The answers that all partitions together give about an attempt, the most important first.
EVERYWHERE = ("confirmed", "conflict", "prepared", "closed", "fenced", "released", "expired", "aborted", "unknown")


class Outcome(NamedTuple):
    """What one execution of a step leads to."""

    label: str
    record: Record
    stores: tuple[Store, ...]
    message: Message | None = None


class Site(NamedTuple):
    """Where the scheduler may place: the hosts for a boot, and those for a destination or an evacuation.

    ``partitions`` has the partition of each host. A move may go to another one.
    """

    boot: tuple[int, ...] = (0, 1)
    destination: tuple[int, ...] = (1,)
    post_copy: bool = False
    partitions: tuple[int, ...] = (0, 0)

    def make_stores(self) -> tuple[Store, ...]:
        """Return the empty stores of the partitions."""
        return tuple(
            Store(
                opened=tuple(OPEN if number == own else FOREIGN for own in self.partitions),
                awaited=(False,) * len(self.partitions),
                partition=number,
            )
            for number in range(1 + max(self.partitions))
        )


def step(state: State, site: Site) -> Iterator[Outcome]:
    """Yield what the due step of the record may lead to."""
    if state.record is not None and state.record.step in STEPS:
        yield from STEPS[state.record.step](state, state.record, site)


def _outcome(label: str, state: State, record: Record, message: Message | None = None) -> Outcome:
    return Outcome(label, record, state.stores, message)


# -- SELECT, DESTINATION, EVACUATE ------------------------------------------------------------------------------------


def _select(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    if to.is_aborted(record):
        yield _outcome("gives the aborted migration up", state, _fail_selection(record))
        return
    candidates = site.boot if record.step == "select" else site.destination
    if record.moving is not None and record.moving.kind != "resize":
        candidates = tuple(host for host in candidates if host != record.moving.source)
    if to.moves_live(record) and record.history:  # each destination is tried once
        candidates = ()
    if not candidates:
        yield _outcome("finds no host", state, _fail_selection(record))
        return
    partition = site.partitions[candidates[0]]
    if len(state.stores) > 1 and not record.is_certain:
        state, answers = _locate(state, record)
        if "closed" in answers.values():
            yield _outcome("waits for a host", state, record)
            return
        partition = next((number for number in answers if answers[number]), partition)
        candidates = tuple(host for host in candidates if site.partitions[host] == partition)
        if not candidates:
            yield _outcome("finds no host where its claims are", state, _fail_selection(record))
            return
    store, answer = verbs.prepare(
        state.stores[partition], record.attempt, candidates, 0, is_fresh=record.is_certain, **move_of(record)
    )
    state = state.with_store(store)
    if answer.answer == "prepared":
        assigned = to.assign_host(
            record, record.attempt, answer.host, answer.alternates, is_certain=True, partition=partition
        )
        yield _outcome("selects a host", state, assigned)
    elif answer.answer in ("conflict", "confirmed"):
        yield _outcome("finds another attempt", state, _settled(record, partition))
    elif answer.answer == "ended":
        yield from _start_new_attempt(state, record._replace(partition=partition))
    else:
        yield _outcome("waits for a host", state, record)
        if record.is_certain or answer.answer == "refused":
            yield _outcome("finds no host in time", state, _fail_selection(record))


def move_of(record: Record) -> dict[str, int]:
    """Return the move of a destination, as verbs and messages name it."""
    return {} if record.moving is None else {"move": record.moving.number, "source": record.moving.source_attempt}


def _locate(state: State, record: Record) -> tuple[State, dict[int, str]]:
    """Return what each partition knows of an attempt of the instance: live, ended, closed or ""; the live one first.

    See scheduler_svc/scheduling/earlier_attempts.py.
    """
    answers = {}
    for partition in range(len(state.stores)):
        store, lookup = verbs.find(state.stores[partition], record.attempt)
        state = state.with_store(store)
        is_live = verbs.own_claim(store) is not None
        answer = "live" if is_live else "ended" if lookup.answer != "unknown" else ""
        answers[partition] = "closed" if lookup.answer == "closed" else answer
    return state, dict(sorted(answers.items(), key=lambda item: item[1] != "live"))


def _settled(record: Record, partition: int) -> Record:
    return record._replace(step="settle", status=to.building_status(record), partition=partition)


def _fail_selection(record: Record) -> Record:
    status = to.building_status(record) if record.moving is not None else "ERROR"
    return record._replace(step="abort", status=status)


def _start_new_attempt(state: State, record: Record) -> Iterator[Outcome]:
    state, (lookup,) = _abort_attempts(state, record, record.attempt)
    if lookup.answer in ("confirmed", "conflict"):
        yield _outcome("finds its attempt confirmed", state, _settled(record, _partition_of(lookup, record)))
    elif lookup.answer in ENDED:
        yield _outcome("selects as a new attempt", state, record._replace(attempt=record.next_attempt))
    else:
        yield _outcome("waits for the end of its attempt", state, record)
        yield _outcome("finds no host in time", state, _fail_selection(record))


def _abort_attempts(state: State, record: Record, *attempts: int) -> tuple[State, list[verbs.Found]]:
    """Abort attempts in the record's partition; where any host may run them, and there are others, in those too."""
    destination, lookups = _destination(record), []
    for attempt in attempts:
        store, lookup = verbs.abort(state.stores[record.partition], attempt, None, destination)
        state = state.with_store(store)
        lookups.append(lookup)
    is_alone = len(state.stores) == 1 or not holds("uncertain attempts are aborted in all partitions")
    if destination is not None or is_alone:
        return state, lookups
    answers: dict[int, list[verbs.Found]] = {attempt: [] for attempt in attempts}
    for partition in range(len(state.stores)):
        store, is_elsewhere = state.stores[partition], partition != record.partition
        for attempt in attempts if is_elsewhere else ():
            store, _lookup = verbs.abort(store, attempt, None, None)
        for attempt in attempts:
            store, lookup = verbs.find(store, attempt)
            answers[attempt].append(lookup._replace(partition=partition) if is_elsewhere else lookup)
        state = state.with_store(store)
    return state, [min(answers[attempt], key=lambda lookup: EVERYWHERE.index(lookup.answer)) for attempt in attempts]


def _partition_of(lookup: verbs.Found, record: Record) -> int:
    """Return the partition that an answer is from."""
    return record.partition if lookup.partition == NOWHERE else lookup.partition


def _destination(record: Record) -> int | None:
    """Return the only host that may run an attempt: NOWHERE if none may, None if any may."""
    if not record.is_certain or (record.host == NOWHERE and record.history):
        return None
    return record.host


# -- CAST, WAIT, TERMINATE --------------------------------------------------------------------------------------------


def _build_message(record: Record) -> Message:
    role = "only" if record.moving is None else "destination"
    return Message("build", record.host, record.attempt, role=role, partition=record.partition, **move_of(record))


def _cast(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    yield _outcome("sends the build", state, record._replace(step="wait"), _build_message(record))


def _wait(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    yield _outcome("sends the build again", state, record, _build_message(record))
    yield _outcome("has waited long enough", state, record._replace(step="alternate"))


def _terminate_message(record: Record) -> Message:
    """Return the message that ends a guest; one that is not deleted ends only if its host followed no later message."""
    if record.status == "DELETING":
        return Message("terminate", record.host, record.attempt)
    return _change_message(record, "end")


def _change_message(record: Record, action: str) -> Message:
    number, partition = record.transition_number, record.partition
    return Message("change", record.host, record.attempt, action, number=number, partition=partition)


def _terminate(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    if record.moving is not None and to.is_returning(record) and record.status != "DELETING":
        store, lookup = verbs.find(state.stores[record.move.source_partition], record.move.source_attempt)
        answer = lookup.end or lookup.answer
        if answer == "closed" and holds("a return asks for the source last"):
            yield _outcome("waits for the claim on its source", state.with_store(store), record)
            return
        if answer in ENDED and holds("a return asks for the source last"):
            yield _outcome("has lost its source", state.with_store(store), to.end_source(record))
            return
    message = _terminate_message(record)
    yield _outcome("sends terminate", state, record, message)
    yield _outcome("checks the claim to be ended", state, record._replace(step="abort"))


# -- ABORT ------------------------------------------------------------------------------------------------------------


def _abort(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    state, lookups = _abort_attempts(state, record, record.attempt, record.next_attempt)
    for attempt, lookup in zip((record.attempt, record.next_attempt), lookups, strict=True):
        partition = _partition_of(lookup, record)
        is_needed = record.status != "DELETING" and not record.is_certain
        if lookup.answer == "conflict" and is_needed and holds("a later attempt that is found settles"):
            yield _outcome("finds a later claim", state, _settled(record, partition))
            return
        if lookup.answer == "conflict":
            left = _claim_left(state.stores[partition], record)
            yield _outcome("finds a later claim", state, left or record)
            return
        history = tuple(item for item in record.history if item != (attempt, "lost"))
        may_be_needed = record.status == "ERROR" and not record._replace(history=history).has_ended(attempt)
        if lookup.answer == "confirmed" and (may_be_needed or _may_have_moved(record)):
            yield _outcome("finds a claim that runs", state, _settled(record, partition))
            return
        if lookup.answer == "confirmed":
            ending = record._replace(step="terminate", attempt=attempt, host=lookup.host, partition=partition)
            yield _outcome("finds a confirmed claim", state, ending)
            return
        if lookup.answer not in ENDED:
            yield _outcome("waits for the end of a claim", state, record)
            return
    is_doubtful = record.status in ("DELETING", "ERROR") and not record.is_certain
    left = _claim_left(state.stores[record.partition], record) if is_doubtful else None
    yield _outcome("has ended its claims", state, left or _finish_aborted(record))


def _may_have_moved(record: Record) -> bool:
    """Return whether a destination may run that was selected before the conductors' store forgot that."""
    if record.moving is None or record.is_certain or record.status == "DELETING":
        return False
    return record.move.kind != "live" and record.move.status == "preparing"


def _claim_left(store: Store, record: Record) -> Record | None:
    """Return the record with a live attempt that the conductors' store forgot, to be ended next."""
    source = None if record.moving is None else record.move.source_attempt
    live = [claim for claim in store.claims if claim.state != "unverified" and claim.attempt != source]
    for claim in sorted(live, key=lambda claim: claim.role == "source"):
        if holds("a doubtful deletion ends all claims"):
            later = record._replace(step="abort", last_attempt=record.transition_number)
            return later._replace(attempt=claim.attempt, host=claim.host, partition=store.partition)
    return None


def _finish_aborted(record: Record) -> Record:
    if record.status == "DELETING":
        return to.finish_deletion(record)
    return to.fail(to.return_to_lost_source(record._replace(last_attempt=record.next_attempt)))


# -- ALTERNATE --------------------------------------------------------------------------------------------------------


def _alternate(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    builds = len(record.history) + (not record.has_ended(record.attempt))
    if not record.alternates or builds >= MAX_ATTEMPTS or _may_have_returned(record):
        yield from _give_up(state, record)
        return
    store, answer = verbs.prepare(
        state.stores[record.partition],
        *(record.next_attempt, record.alternates, record.attempt),
        is_fresh=record.is_certain,
        **move_of(record),
    )
    state = state.with_store(store)
    if answer.answer == "prepared":
        ended = to.end_attempt(record, "timeout")
        rest = record.alternates[record.alternates.index(answer.host) + 1 :] if answer.host in record.alternates else ()
        yield _outcome("prepares an alternate", state, to.assign_host(ended, record.next_attempt, answer.host, rest))
    elif answer.answer == "confirmed":
        yield _handle_confirmed(state, record)
    elif answer.answer in ("ended", "conflict"):
        yield _outcome("finds another attempt", state, record._replace(step="settle"))
    else:
        yield _outcome("waits for an alternate", state, record)
        if record.is_certain:
            yield from _give_up(state, record)


def _may_have_returned(record: Record) -> bool:
    may_have_returned = record.moving is not None and not record.is_certain
    return may_have_returned and holds("an uncertain move has no alternate")


def _give_up(state: State, record: Record) -> Iterator[Outcome]:
    state, (lookup,) = _abort_attempts(state, record, record.attempt)
    partition = _partition_of(lookup, record)
    if lookup.answer in ENDED and _may_have_returned(record):
        store, later = verbs.find(state.stores[record.partition], record.next_attempt)
        state = state.with_store(store)
        if later.answer not in ENDED:
            partition = record.partition
            lookup = later if later.answer == "closed" else later._replace(answer="conflict")
    if lookup.answer in ENDED:
        yield _outcome("gives up", state, to.fail(to.end_attempt(record, "timeout")))
    elif lookup.answer == "conflict" or (lookup.answer == "confirmed" and partition != record.partition):
        yield _outcome("finds another attempt", state, record._replace(step="settle", partition=partition))
    elif lookup.answer == "confirmed":
        yield _handle_confirmed(state, record)
    else:
        yield _outcome("waits for the end of its attempt", state, record)


def _handle_confirmed(state: State, record: Record) -> Outcome:
    if record.has_ended(record.attempt):
        return _outcome("sends terminate", state, record, _terminate_message(record))
    if not record.is_second_try:
        return _outcome("asks once more", state, record._replace(step="cast", is_second_try=True))
    if record.moving is not None:
        return _outcome("reverts the move", state, to.revert_move(record, by_request=False))
    return _outcome("keeps the claim", state, to.finish(record, "ERROR"))


# -- SETTLE -----------------------------------------------------------------------------------------------------------


def _settle(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    state, source, own = _list_claims(state, record.partition)
    own_move = 0 if record.moving is None else record.moving.number
    if source is not None and source.move != own_move and holds("settling adopts unknown moves"):
        yield from _settle_unknown_move(state, record, source, own)
    elif own is not None and _is_of_other_move(record, own):
        yield from _settle_destination(state, record, own)
    elif own is not None and _has_ended_move(record, own):
        yield _outcome("settles without its move", state, to.settle_without_move(record))
    elif own is not None:
        yield from _adopt(state, record, own)
    else:
        elsewhere, may_run = None, False
        if record.moving is None:
            state, elsewhere, may_run = _find_elsewhere(state, record)
        if may_run:
            yield _outcome("waits for the hosts of another partition", state, record)
        elif elsewhere is not None:
            located = record._replace(partition=state.store_of(elsewhere.host).partition)
            yield _outcome("finds a claim in another partition", state, located)
        else:
            yield from _continue_without(state, record)


def _is_of_other_move(record: Record, own: verbs.Claim) -> bool:
    """Return whether a claim is the destination of a move that the record does not know, or has ended."""
    if own.role != "destination" or not holds("step SETTLE follows a destination"):
        return False
    if record.moving is None:
        return True
    return own.move not in (0, record.move.number) and own.attempt != record.move.source_attempt


def _has_ended_move(record: Record, own: verbs.Claim) -> bool:
    """Return whether a claim is a later attempt outside the recorded move."""
    if record.moving is None or own.role != "only" or not holds("a later attempt ends the move before it"):
        return False
    return own.attempt not in (record.move.source_attempt, record.attempt)


def _settle_destination(state: State, record: Record, own: verbs.Claim) -> Iterator[Outcome]:
    """Settle with the destination of an unknown move, whose source is in another partition or has ended."""
    if record.moving is not None:
        yield _outcome("settles without its move", state, to.settle_without_move(record))
        return
    state, other, may_run = _find_elsewhere(state, record)
    if may_run:
        yield _outcome("waits for the hosts of another partition", state, record)
    elif other is not None and other.attempt == own.source and record.evacuation is not None:
        ended = to.finish(record, "ACTIVE")._replace(status=record.status, step="settle")
        yield _outcome("ends the evacuation", state, ended)
    elif other is not None and other.attempt == own.source:
        yield from _rebuild_move(state, record, other, own)
    elif other is not None and own.state in ("prepared", "overdue"):
        located = record._replace(partition=state.store_of(other.host).partition)
        yield _outcome("finds a claim in another partition", state, located)
    else:
        yield from _adopt(state, record, own)


def _list_claims(state: State, partition: int) -> tuple[State, verbs.Claim | None, verbs.Claim | None]:
    """Return the source and the own claim in a partition; a list of claims ends overdue ones."""
    state = state.with_store(verbs.expire(state.stores[partition]))
    return state, verbs.source_claim(state.stores[partition]), verbs.own_claim(state.stores[partition])


def _find_elsewhere(state: State, record: Record) -> tuple[State, verbs.Claim | None, bool]:
    """Return a claim in another partition than the record's, and whether one may have forgotten a claim."""
    for partition in range(len(state.stores)):
        if partition != record.partition and holds("claims are looked for in other partitions"):
            state, source, own = _list_claims(state, partition)
            if source is not None or own is not None:
                return state, source or own, False
            if record.is_certain:
                continue
            store, lookup = verbs.find(state.stores[partition], record.attempt)
            state = state.with_store(store)
            if lookup.answer == "closed" and holds("another partition may have forgotten the other end"):
                return state, None, True
    return state, None, False


def _settle_unknown_move(
    state: State, record: Record, source: verbs.Claim, destination: verbs.Claim | None
) -> Iterator[Outcome]:
    may_run = False
    if destination is None:
        state, destination, may_run = _find_elsewhere(state, record)
    if may_run:
        yield _outcome("waits for the hosts of another partition", state, record)
    elif destination is not None and record.evacuation is not None:
        ended = to.finish(record, "ACTIVE")._replace(status=record.status, step="settle")
        yield _outcome("ends the evacuation", state, ended)
    elif destination is not None and record.moving is not None:
        yield _outcome("settles without its move", state, to.settle_without_move(record))
    elif destination is not None:
        yield from _rebuild_move(state, record, source, destination)
    else:
        store, answer = verbs.end_move(state.stores[record.partition], source.attempt, source.move)
        state = state.with_store(store)
        if answer == "confirmed":
            yield from _adopt(state, record, source._replace(role="only"))
        else:
            yield _outcome("waits for the claim on its source", state, record)


def _rebuild_move(state: State, record: Record, source: verbs.Claim, own: verbs.Claim) -> Iterator[Outcome]:
    if state.agents[own.host].life != ALIVE:
        yield _outcome("waits for the agent of the destination", state, record)
        return
    if state.agents[source.host].life != ALIVE:
        yield _outcome("waits for the agent of the source", state, record)
        return
    for claim in (own, source):
        if holds("a move that has ended holds no guest") and _is_held_for_other(state, claim, own.move or source.move):
            yield _end_earlier_move_on_host(state, record, claim)
            return
    guest = _guest_of(state, own)
    goes_on = guest in ("running", "to start") or (guest == "off" and _guest_of(state, source) != "running")
    kind, status = "live" if guest == "incoming" else "cold", "preparing" if goes_on else "reverting"
    migration = Migration(
        *(kind, status, source.host, source.attempt, own.attempt),
        number=own.move or source.move,
        has_reason=not goes_on,
        was_stopped=record.was_stopped,
        source_partition=state.store_of(source.host).partition,
    )
    ending = "abort" if own.state in ("prepared", "overdue") else "terminate"
    journalled_attempt = journalled(state.agents[own.host], own.attempt)
    followed = 0 if journalled_attempt is None or not guest else journalled_attempt.transition
    moving = record._replace(
        attempt=own.attempt,
        last_attempt=max(record.last_attempt, followed),
        host=own.host,
        history=(),
        alternates=(),
        status="MIGRATING" if guest == "incoming" else "RESIZE",
        step="stop_source" if goes_on else ending,
        was_stopped=False,
        migration=migration,
        partition=state.store_of(own.host).partition,
    )
    yield _outcome("rebuilds the move", state, moving)


def _is_held_for_other(state: State, claim: verbs.Claim, move: int) -> bool:
    attempt = journalled(state.agents[claim.host], claim.attempt)
    return attempt is not None and attempt.is_live and attempt.held_for not in (0, move)


def _end_earlier_move_on_host(state: State, record: Record, claim: verbs.Claim) -> Outcome:
    """Tell a host that the move is over for which it stopped its guest, unless the partition may have forgotten it."""
    attempt, store = journalled(state.agents[claim.host], claim.attempt), state.store_of(claim.host)
    assert attempt is not None
    if attempt.held_for not in store.ended_moves and verbs.may_have_forgotten(store):
        return _outcome("waits for the hosts of a move", state, record)
    freed = record._replace(last_attempt=max(record.last_attempt, attempt.transition) + 1)
    number, partition = freed.transition_number, store.partition
    message = Message("change", claim.host, claim.attempt, "stop", "only", number, partition, attempt.held_for)
    return _outcome("frees a guest of an ended move", state, freed, message)


def _guest_of(state: State, claim: verbs.Claim) -> str:
    """Return the state of the guest of a claim as its agent reports it."""
    attempt = journalled(state.agents[claim.host], claim.attempt)
    if attempt is None or not attempt.is_live:
        return ""
    if attempt.is_incoming:
        return "incoming"
    if attempt.stage == "confirmed" or not attempt.guest:
        return "to start"
    return {"excepted": "running"}.get(attempt.guest, attempt.guest)


def _adopt(state: State, record: Record, claim: verbs.Claim) -> Iterator[Outcome]:
    was_stopped = record.was_stopped
    if record.evacuation is None:
        record = record._replace(was_stopped=False)
    if record.moving is not None and claim.attempt == record.move.source_attempt:
        if record.move.status == "reverting":
            yield _outcome("settles without its move", state, to.settle_returned(record))
            return
        yield _outcome("begins the move again", state, record._replace(step="begin_move"))
        return
    history = tuple(item for item in record.history if item != (claim.attempt, "lost"))
    record = record._replace(history=history)  # its claim shows that it was not lost
    if record.has_ended(claim.attempt):
        message = _terminate_message(record._replace(host=claim.host, attempt=claim.attempt))
        yield _outcome("sends terminate", state, record, message)
        return
    if claim.attempt != record.attempt:
        record = to.end_attempt(record, "lost")
    adopted = to.assign_host(record, claim.attempt, claim.host, claim.alternates)
    agent = state.agents[claim.host]
    attempt = journalled(agent, claim.attempt) if agent.life == ALIVE else None
    if attempt is not None and attempt.held_for and record.moving is None:
        store, answer = verbs.end_move(state.stores[record.partition], claim.attempt, attempt.held_for)
        if answer != "confirmed":
            return
        state = state.with_store(store)
        number = max(record.last_attempt, adopted.transition_number, attempt.transition) + 1
        status = "STOPPING" if was_stopped else "STARTING"
        adopted = adopted._replace(step="power", status=status, last_attempt=number)
    yield _outcome("adopts a claim", state, adopted)


def _continue_without(state: State, record: Record) -> Iterator[Outcome]:
    if holds("step SETTLE waits for hosts that may run the instance"):
        if not record.is_certain:
            store, lookup = verbs.find(state.stores[record.partition], record.next_attempt)
            state = state.with_store(store)
            is_closed = lookup.answer == "closed"
        elif record.has_ended(record.attempt):
            is_closed = False
        else:
            state, (lookup,) = _abort_attempts(state, record, record.attempt)
            is_closed = lookup.answer == "closed"
        if is_closed:
            yield _outcome("waits for hosts that may run it", state, record)
            return
    record = to.end_attempt(record, "lost")
    following = record._replace(step="alternate", attempt=record.next_attempt, host=NOWHERE)
    yield _outcome("continues without a claim", state, to.end_attempt(following, "lost"))


# -- moves ------------------------------------------------------------------------------------------------------------


def _begin_move(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    move = record.move
    store, answer = verbs.begin_move(state.stores[move.source_partition], move.source_attempt, move.number)
    state = state.with_store(store)
    if answer == "confirmed":
        is_deleting = record.status == "DELETING"
        deleted = record._replace(step="abort", attempt=record.next_attempt, host=NOWHERE)
        yield _outcome("begins the move", state, deleted if is_deleting else to.select_next(record))
    elif answer in UNDECIDED:
        yield _outcome("waits for the claim to be moved", state, record)
    elif answer == "conflict" and record.is_certain:
        moved = verbs.source_claim(store)
        assert moved is not None
        store, _answer = verbs.end_move(store, moved.attempt, moved.move)
        yield _outcome("ends an earlier move", state.with_store(store), record)
    elif answer in ENDED and answer not in ("unknown", "ended"):
        yield _outcome("has lost its claim", state, to.lose_claim(record, "lost"))
    else:
        yield _outcome("settles without its move", state, to.settle_returned(record))


def _end_move(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    if not record.is_certain and holds("a return looks for other destinations first"):
        state, destination, may_run = _find_elsewhere(state, record)
        if may_run:
            yield _outcome("waits for the hosts of another partition", state, record)
            return
        if destination is not None:
            yield _outcome("settles with a destination", state, to.settle_without_move(record))
            return
    move = record.move
    store, answer = verbs.end_move(state.stores[move.source_partition], move.source_attempt, move.number)
    state = state.with_store(store)
    if answer == "confirmed":
        yield _outcome("ends the move", state, to.resume(record))
    elif answer in UNDECIDED:
        yield _outcome("waits for the claim on its source", state, record)
    elif answer == "conflict" and not record.is_certain:
        yield _outcome("settles with a destination", state, to.settle_without_move(record))
    elif answer == "conflict":
        yield _outcome("finds another attempt", state, record._replace(step="abort"))
    elif answer in ENDED and answer != "ended":
        yield _outcome("has lost its source", state, to.end_source(record))
    else:
        yield _outcome("settles without its move", state, to.settle_returned(record))


def _request(role: str, action_of: Callable[[Record], str], on_end: Callable[[Record], Record]) -> "StepFunction":
    """Return the step that asks the end of a move with ``role`` to change its guest, until it reports that."""

    label = "host" if role == "only" else role

    def run(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
        move = record.move
        host, attempt, partition = (
            (move.source, move.source_attempt, move.source_partition)
            if role == "source"
            else (record.host, record.attempt, record.partition)
        )
        message = Message(
            *("change", host, attempt, action_of(record), role, record.transition_number, partition),
            move=move.number,
            source=move.source_attempt if role == "destination" else 0,
        )
        yield _outcome(f"asks its {label}: {message.action}", state, record, message)
        store, lookup = verbs.find(state.stores[partition], attempt)
        answer = lookup.end or lookup.answer
        checked = record
        if answer in ENDED:
            checked = on_end(record)
        elif answer == "confirmed" and lookup.move != move.number and role == "source":
            begun_store, answer = verbs.begin_move(store, attempt, move.number)
            is_forgotten = answer == "confirmed" and holds("a forgotten move begins again")
            store, checked = (begun_store, record) if is_forgotten else (store, to.settle_returned(record))
        yield _outcome(f"checks the claim on its {label}", state.with_store(store), checked)

    return run


def _resumed(record: Record) -> str:
    if record.move.was_stopped:
        return "stop"
    return "continue" if to.keeps_memory(record) else "run"


def _resume(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    yield from (_RESUME_RETURNING if to.is_returning(record) else _RESUME_ONLY)(state, record, site)


def _finish_source(record: Record) -> Record:
    return (to.end_live_source(record) or record) if to.moves_live(record) else to.end_source(record)


def _end_source(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    """Ask the source to end, unless the destination of a finished move has ended: the source has the last copy."""
    store, lookup = verbs.find(state.stores[record.partition], record.attempt)
    is_needed = record.status != "DELETING" and holds("a confirm asks for the destination first")
    if is_needed and lookup.answer == "closed":
        yield _outcome("waits for the claim on its destination", state.with_store(store), record)
    elif is_needed and lookup.answer in ENDED:
        is_live = to.moves_live(record)
        lost_record = to.lose_destination(record, "lost") if is_live else to.fail(to.end_attempt(record, "lost"))
        yield _outcome("has lost the destination", state.with_store(store), lost_record)
    else:
        yield from _ASK_SOURCE_TO_END(state, record, site)


def _power(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    action = "run" if record.status == "STARTING" else "stop"
    yield _outcome(f"asks its host: {action}", state, record, _change_message(record, action))
    store, lookup = verbs.find(state.stores[record.partition], record.attempt)
    checked = reports.settle_claim(record) if lookup.answer == "conflict" else record
    checked = to.lose(record) if lookup.answer in ENDED else checked
    yield _outcome("checks the claim on its host", state.with_store(store), checked)


# -- live migration ---------------------------------------------------------------------------------------------------


def _prepare_copy(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    if to.is_aborted(record):
        yield _outcome("gives the aborted migration up", state, to.give_up(record))
        return
    yield _outcome("has waited long enough", state, to.give_up(record))
    if not record.move.is_checked:
        source, destination = state.agents[record.move.source], state.agents[record.host]
        if source.life != ALIVE or destination.life != ALIVE:
            yield _outcome("waits for the checks", state, record)
            return
        live = [attempt for attempt in source.attempts if attempt.is_live]
        if not live or live[-1].stage != "spawned":
            yield _outcome("fails the check at the source", state, to.give_up(record, is_final=True))
            return
        if any(attempt.is_live for attempt in destination.attempts):
            yield _outcome("fails the check at the destination", state, to.give_up(record))
            return
        record = to.with_migration(record, is_checked=True)
    message = Message(
        *("incoming", record.host, record.attempt),
        role="destination",
        partition=record.partition,
        **move_of(record),
    )
    yield _outcome("prepares the destination", state, record, message)


def _copy_message(record: Record, site: Site) -> Message:
    move = record.move
    role = POST_COPY if site.post_copy else ""
    action, partition = move.request or "start", move.source_partition
    return Message("copy", move.source, move.source_attempt, action, role, record.attempt, partition, move.number)


def _copy(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    yield _outcome("asks for the copy", state, record, _copy_message(record, site))
    yield _check_claims(state, record)


def _switch(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    message = _change_message(record, "run")._replace(role="destination", **move_of(record))
    if record.move.is_resumed and record.move.phase != "done":
        message = _copy_message(record, site)
    yield _outcome("asks the destination to run", state, record, message)
    yield _check_claims(state, record)


def _check_claims(state: State, record: Record) -> Outcome:
    store, lookup = verbs.find(state.stores[record.move.source_partition], record.move.source_attempt)
    source = lookup.end or lookup.answer
    state = state.with_store(store)
    store, lookup = verbs.find(state.stores[record.partition], record.attempt)
    destination = lookup.answer
    can_report = state.agents[record.host].life == ALIVE or store.opened[record.host] == verbs.OPEN
    will_report = record.step == "switch" and destination == "released" and can_report
    changed = to.end_live_source(record) if source in ENDED else None
    if changed is None and destination in ENDED and not will_report:
        changed = to.lose_destination(record, "lost")
    return _outcome("checks both claims", state.with_store(store), changed or record)


# -- comparison and vouching ------------------------------------------------------------------------------------------


def compare(state: State) -> Iterator[Outcome]:
    """Yield what two comparisons in turn make of a settled record."""
    record = state.record
    if record is None or not reports.is_settled(record):
        return
    store, lookup = verbs.find(state.stores[record.partition], record.attempt)
    state = state.with_store(store)
    existing = reports.knows_move(record, lookup.move)
    changed = reports.compare_own(record, lookup, is_moves_known=existing)
    if record.status == "ERROR" and changed is not None and changed.step == "cast":
        changed = changed if state.agents[record.host].life == ALIVE else None
    elif record.status == "ERROR" and changed is None and not record.is_certain:
        state, changed = _compare_elsewhere(state, record)
    if changed is None and record.moving is not None:
        store, lookup = verbs.find(state.stores[record.move.source_partition], record.move.source_attempt)
        is_forgotten = lookup.answer == "confirmed" and lookup.move != record.move.number
        if is_forgotten and holds("a comparison begins a forgotten move again"):
            store, _answer = verbs.begin_move(store, record.move.source_attempt, record.move.number)
        state = state.with_store(store)
        changed = reports.compare_source(record, lookup)
    yield _outcome("compares with the claims", state, changed or record)


def _compare_elsewhere(state: State, record: Record) -> tuple[State, Record | None]:
    """Return the record if another partition has this or a later attempt, else None."""
    for partition in range(len(state.stores)):
        if partition != record.partition and holds("records in ERROR are looked for in other partitions"):
            store, lookup = verbs.find(state.stores[partition], record.attempt)
            state = state.with_store(store)
            if lookup.answer in ("confirmed", "conflict"):
                return state, reports.settle_claim(record)._replace(partition=partition)
    return state, None


StepFunction = Callable[[State, Record, Site], Iterator[Outcome]]

_STOP_SOURCE = _request("source", lambda _record: "stop", to.end_source)
_STOP_DESTINATION = _request(
    "destination", lambda _record: "stop", lambda record: to.fail(to.end_attempt(record, "lost"))
)
_ASK_SOURCE_TO_END = _request("source", lambda _record: "end", _finish_source)
_RESUME_RETURNING = _request("source", _resumed, to.end_source)
_RESUME_ONLY = _request("only", _resumed, lambda record: to.lose_claim(record, "lost"))

STEPS: dict[str, StepFunction] = {
    "abort": _abort,
    "terminate": _terminate,
    "end_source": _end_source,
    "power": _power,
    "stop_destination": _STOP_DESTINATION,
    "end_move": _end_move,
    "resume": _resume,
    "begin_move": _begin_move,
    "select": _select,
    "destination": _select,
    "evacuate": _select,
    "stop_source": _STOP_SOURCE,
    "prepare_copy": _prepare_copy,
    "copy": _copy,
    "switch": _switch,
    "settle": _settle,
    "wait": _wait,
    "alternate": _alternate,
    "cast": _cast,
}
