# SPDX-License-Identifier: Apache-2.0
"""The conductor's steps: each calls verbs, may send one message, and writes the record. See conductor/saga."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tests.model import reports, verbs
from tests.model import transitions as to
from tests.model.agents import POST_COPY, journalled
from tests.model.rules import holds
from tests.model.state import ALIVE, NOWHERE, Message, Migration, Record, State, Store

ENDED = frozenset({"aborted", "expired", "released", "fenced", "ended", "unknown"})
MAX_ATTEMPTS = 3
UNDECIDED = ("closed", "prepared")


class Outcome(NamedTuple):
    """What one execution of a step leads to."""

    label: str
    record: Record
    store: Store
    message: Message | None = None


class Site(NamedTuple):
    """Where the scheduler may place: the hosts for a boot, and those for a destination or an evacuation."""

    boot: tuple[int, ...] = (0, 1)
    destination: tuple[int, ...] = (1,)
    post_copy: bool = False


def step(state: State, site: Site) -> Iterator[Outcome]:
    """Yield what the due step of the record may lead to."""
    if state.record is not None and state.record.step in STEPS:
        yield from STEPS[state.record.step](state, state.record, site)


def _unchanged(label: str, state: State, record: Record, message: Message | None = None) -> Outcome:
    return Outcome(label, record, state.store, message)


# -- SELECT, DESTINATION, EVACUATE ------------------------------------------------------------------------------------


def _select(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    if to.is_aborted(record):
        yield _unchanged("gives the aborted migration up", state, _fail_selection(record))
        return
    candidates = site.boot if record.step == "select" else site.destination
    if to.moves_live(record) and record.history:  # each destination is tried once
        candidates = ()
    if not candidates:
        yield _unchanged("finds no host", state, _fail_selection(record))
        return
    store, answer = verbs.prepare(state.store, record.attempt, candidates, 0, is_fresh=record.is_certain)
    if answer.answer == "prepared":
        assigned = to.assign_host(record, record.attempt, answer.host, answer.alternates, is_certain=True)
        yield Outcome("selects a host", assigned, store)
    elif answer.answer in ("conflict", "confirmed"):
        yield Outcome("finds another attempt", _settled(record), store)
    elif answer.answer == "ended":
        yield from _start_new_attempt(state._replace(store=store), record)
    else:
        yield Outcome("waits for a host", record, store)
        if record.is_certain or answer.answer == "refused":
            yield Outcome("finds no host in time", _fail_selection(record), store)


def _settled(record: Record) -> Record:
    return record._replace(step="settle", status=to.building_status(record))


def _fail_selection(record: Record) -> Record:
    status = to.building_status(record) if record.moving is not None else "ERROR"
    return record._replace(step="abort", status=status)


def _start_new_attempt(state: State, record: Record) -> Iterator[Outcome]:
    store, lookup = verbs.abort(state.store, record.attempt, None, _destination(record))
    if lookup.answer in ("confirmed", "conflict"):
        yield Outcome("finds its attempt confirmed", _settled(record), store)
    elif lookup.answer in ENDED:
        yield Outcome("selects as a new attempt", record._replace(attempt=record.next_attempt), store)
    else:
        yield Outcome("waits for the end of its attempt", record, store)
        yield Outcome("finds no host in time", _fail_selection(record), store)


def _destination(record: Record) -> int | None:
    """Return the only host that may run an attempt: NOWHERE if none may, None if any may."""
    if not record.is_certain or (record.host == NOWHERE and record.history):
        return None
    return record.host


# -- CAST, WAIT, TERMINATE --------------------------------------------------------------------------------------------


def _build_message(record: Record) -> Message:
    role = "destination" if record.moving is not None else "only"
    return Message("build", record.host, record.attempt, role=role)


def _cast(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    yield _unchanged("sends the build", state, record._replace(step="wait"), _build_message(record))


def _wait(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    yield _unchanged("sends the build again", state, record, _build_message(record))
    yield _unchanged("has waited long enough", state, record._replace(step="alternate"))


def _terminate_message(record: Record) -> Message:
    """Return the message that ends a guest; one that is not deleted ends only if its host followed no later message."""
    if record.status == "DELETING":
        return Message("terminate", record.host, record.attempt)
    return Message("change", record.host, record.attempt, "end", number=record.transition_number)


def _terminate(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    if record.moving is not None and to.is_returning(record) and record.status != "DELETING":
        store, lookup = verbs.find(state.store, record.move.source_attempt)
        answer = lookup.end or lookup.answer
        if answer in verbs.ENDS and holds("a return asks for the source last"):
            yield Outcome("has lost its source", to.end_source(record), store)
            return
    message = _terminate_message(record)
    yield _unchanged("sends terminate", state, record, message)
    yield _unchanged("checks the claim to be ended", state, record._replace(step="abort"))


# -- ABORT ------------------------------------------------------------------------------------------------------------


def _abort(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    store, lookups = state.store, []
    for attempt in (record.attempt, record.next_attempt):
        store, lookup = verbs.abort(store, attempt, None, _destination(record))
        lookups.append(lookup)
    for attempt, lookup in zip((record.attempt, record.next_attempt), lookups, strict=True):
        if lookup.answer == "confirmed" and (record.status == "ERROR" or _may_have_moved(record)):
            yield Outcome("finds a claim that runs", _settled(record), store)
            return
        if lookup.answer == "confirmed":
            ending = record._replace(step="terminate", attempt=attempt, host=lookup.host)
            yield Outcome("finds a confirmed claim", ending, store)
            return
        if lookup.answer not in ENDED:
            yield Outcome("waits for the end of a claim", record, store)
            return
    left = _claim_left(store, record) if record.status == "DELETING" and not record.is_certain else None
    yield Outcome("has ended its claims", left or _finish_aborted(record), store)


def _may_have_moved(record: Record) -> bool:
    """Return whether a destination may run that was selected before the conductors' store forgot that."""
    if record.moving is None or record.is_certain or record.status == "DELETING":
        return False
    return record.move.kind != "live" and record.move.status == "preparing"


def _claim_left(store: Store, record: Record) -> Record | None:
    """Return the record with a live attempt that the conductors' store forgot, to be ended next."""
    existing = record.moving is not None
    live = [c for c in store.claims if c.state != "unverified" and not (existing and c.role == "source")]
    for claim in sorted(live, key=lambda claim: claim.role == "source"):
        if holds("a doubtful deletion ends all claims"):
            return record._replace(step="abort", attempt=claim.attempt, host=claim.host)
    return None


def _finish_aborted(record: Record) -> Record:
    if record.status == "DELETING":
        return to.finish_deletion(record)
    return to.fail(to.return_to_lost_source(record._replace(last_attempt=record.next_attempt)))


# -- ALTERNATE --------------------------------------------------------------------------------------------------------


def _alternate(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    builds = len(record.history) + (not record.has_ended(record.attempt))
    if not record.alternates or builds >= MAX_ATTEMPTS:
        yield from _give_up(state, record)
        return
    store, answer = verbs.prepare(
        state.store, record.next_attempt, record.alternates, record.attempt, is_fresh=record.is_certain
    )
    state = state._replace(store=store)
    if answer.answer == "prepared":
        ended = to.end_attempt(record, "timeout")
        rest = record.alternates[record.alternates.index(answer.host) + 1 :] if answer.host in record.alternates else ()
        yield Outcome("prepares an alternate", to.assign_host(ended, record.next_attempt, answer.host, rest), store)
    elif answer.answer == "confirmed":
        yield _handle_confirmed(state, record)
    elif answer.answer in ("ended", "conflict"):
        yield Outcome("finds another attempt", record._replace(step="settle"), store)
    else:
        yield Outcome("waits for an alternate", record, store)
        if record.is_certain:
            yield from _give_up(state, record)


def _give_up(state: State, record: Record) -> Iterator[Outcome]:
    store, lookup = verbs.abort(state.store, record.attempt, None, _destination(record))
    state = state._replace(store=store)
    if lookup.answer in ENDED:
        yield Outcome("gives up", to.fail(to.end_attempt(record, "timeout")), store)
    elif lookup.answer == "confirmed":
        yield _handle_confirmed(state, record)
    else:
        yield Outcome("waits for the end of its attempt", record, store)


def _handle_confirmed(state: State, record: Record) -> Outcome:
    if record.has_ended(record.attempt):
        return _unchanged("sends terminate", state, record, _terminate_message(record))
    if not record.is_second_try:
        return _unchanged("asks once more", state, record._replace(step="cast", is_second_try=True))
    if record.moving is not None:
        return _unchanged("reverts the move", state, to.revert_move(record, by_request=False))
    return _unchanged("keeps the claim", state, to.finish(record, "ERROR"))


# -- SETTLE -----------------------------------------------------------------------------------------------------------


def _settle(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    state = state._replace(store=verbs.expire(state.store))  # as a list of claims does
    source, own = verbs.source_claim(state.store), verbs.own_claim(state.store)
    if source is None or record.moving is not None or not holds("settling adopts unknown moves"):
        yield from _continue_without(state, record) if own is None else _adopt(state, record, own)
    elif own is not None and record.evacuation is not None:
        yield _unchanged(
            "ends the evacuation", state, to.finish(record, "ACTIVE")._replace(status=record.status, step="settle")
        )
    elif own is not None:
        yield from _rebuild_move(state, record, source, own)
    else:
        store, answer = verbs.end_move(state.store, source.attempt)
        if answer == "confirmed":
            claim = source._replace(role="only")
            yield from _adopt(state._replace(store=store), record, claim)
        else:
            yield Outcome("waits for the claim on its source", record, store)


def _rebuild_move(state: State, record: Record, source: verbs.Claim, own: verbs.Claim) -> Iterator[Outcome]:
    if state.agents[own.host].life != ALIVE:
        yield _unchanged("waits for the agent of the destination", state, record)
        return
    guest = _guest_of(state, own)
    if guest not in ("running", "to start") and state.agents[source.host].life != ALIVE:
        yield _unchanged("waits for the agent of the source", state, record)
        return
    source_runs = guest not in ("running", "to start") and _guest_of(state, source) == "running"
    goes_on = guest in ("running", "to start") or (guest == "off" and not source_runs)
    kind, status = "live" if guest == "incoming" else "cold", "preparing" if goes_on else "reverting"
    migration = Migration(
        *(kind, status, source.host, source.attempt, own.attempt),
        has_reason=not goes_on,
        was_stopped=record.was_stopped,
    )
    journalled_attempt = journalled(state.agents[own.host], own.attempt)
    followed = 0 if journalled_attempt is None or not guest else journalled_attempt.transition
    moving = record._replace(
        attempt=own.attempt,
        last_attempt=max(record.last_attempt, followed),
        host=own.host,
        history=(),
        alternates=(),
        status="MIGRATING" if guest == "incoming" else "RESIZE",
        step="stop_source" if goes_on else "terminate",
        was_stopped=False,
        migration=migration,
    )
    yield _unchanged("rebuilds the move", state, moving)


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
        yield _unchanged("begins the move again", state, record._replace(step="begin_move"))
        return
    history = tuple(item for item in record.history if item != (claim.attempt, "lost"))
    record = record._replace(history=history)  # its claim shows that it was not lost
    if record.has_ended(claim.attempt):
        message = _terminate_message(record._replace(host=claim.host, attempt=claim.attempt))
        yield _unchanged("sends terminate", state, record, message)
        return
    if claim.attempt != record.attempt:
        record = to.end_attempt(record, "lost")
    adopted = to.assign_host(record, claim.attempt, claim.host, claim.alternates)
    agent = state.agents[claim.host]
    attempt = journalled(agent, claim.attempt) if agent.life == ALIVE else None
    if attempt is not None and attempt.is_held and record.moving is None:
        store, answer = verbs.end_move(state.store, claim.attempt)
        if answer != "confirmed":
            return
        state = state._replace(store=store)
        number = max(record.last_attempt, attempt.transition)
        status = "STOPPING" if was_stopped else "STARTING"
        adopted = adopted._replace(step="power", status=status, last_attempt=number)
    yield _unchanged("adopts a claim", state, adopted)


def _continue_without(state: State, record: Record) -> Iterator[Outcome]:
    record = to.end_attempt(record, "lost")
    following = record._replace(step="alternate", attempt=record.next_attempt, host=NOWHERE)
    yield _unchanged("continues without a claim", state, to.end_attempt(following, "lost"))


# -- moves ------------------------------------------------------------------------------------------------------------


def _begin_move(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    store, answer = verbs.begin_move(state.store, record.move.source_attempt)
    if answer == "confirmed":
        is_deleting = record.status == "DELETING"
        deleted = record._replace(step="abort", attempt=record.next_attempt, host=NOWHERE)
        yield Outcome("begins the move", deleted if is_deleting else to.select_next(record), store)
    elif answer in UNDECIDED:
        yield Outcome("waits for the claim to be moved", record, store)
    elif answer in ENDED and answer not in ("unknown", "ended"):
        yield Outcome("has lost its claim", to.lose_claim(record, "lost"), store)
    else:
        yield Outcome("settles without its move", to.settle_returned(record), store)


def _end_move(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    store, answer = verbs.end_move(state.store, record.move.source_attempt)
    if answer == "confirmed":
        yield Outcome("ends the move", to.resume(record), store)
    elif answer in UNDECIDED:
        yield Outcome("waits for the claim on its source", record, store)
    elif answer == "conflict":
        yield Outcome("finds another attempt", record._replace(step="abort"), store)
    elif answer in ENDED:
        yield Outcome("has lost its source", to.end_source(record), store)
    else:
        yield Outcome("settles without its move", to.settle_returned(record), store)


def _request(role: str, action_of: Callable[[Record], str], on_end: Callable[[Record], Record]) -> "StepFunction":
    """Return the step that asks the end of a move with ``role`` to change its guest, until it reports that."""

    label = "host" if role == "only" else role

    def run(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
        move = record.move
        host, attempt = (move.source, move.source_attempt) if role == "source" else (record.host, record.attempt)
        message = Message("change", host, attempt, action_of(record), role, record.transition_number)
        yield _unchanged(f"asks its {label}: {message.action}", state, record, message)
        store, lookup = verbs.find(state.store, attempt)
        answer = lookup.end or lookup.answer
        checked = record
        if answer in verbs.ENDS:
            checked = on_end(record)
        elif answer == "confirmed" and not lookup.moves and role == "source":
            begun_store, answer = verbs.begin_move(store, attempt)
            is_forgotten = answer == "confirmed" and holds("a forgotten move begins again")
            store, checked = (begun_store, record) if is_forgotten else (store, to.settle_returned(record))
        yield Outcome(f"checks the claim on its {label}", checked, store)

    return run


def _resumed(record: Record) -> str:
    return "stop" if record.move.was_stopped else "run"


def _resume(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    yield from (_RESUME_RETURNING if to.is_returning(record) else _RESUME_ONLY)(state, record, site)


def _finish_source(record: Record) -> Record:
    return (to.end_live_source(record) or record) if to.moves_live(record) else to.end_source(record)


def _end_source(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    """Ask the source to end, unless the destination of a confirmed move has ended: the source has the last copy."""
    store, lookup = verbs.find(state.store, record.attempt)
    is_confirmed = record.status != "DELETING" and not to.moves_live(record)
    if is_confirmed and lookup.answer in verbs.ENDS and holds("a confirm asks for the destination first"):
        yield Outcome("has lost the destination", to.fail(to.end_attempt(record, "lost")), store)
    else:
        yield from _ASK_SOURCE_TO_END(state, record, site)


def _power(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    action = "run" if record.status == "STARTING" else "stop"
    message = Message("change", record.host, record.attempt, action, number=record.transition_number)
    yield _unchanged(f"asks its host: {action}", state, record, message)
    store, lookup = verbs.find(state.store, record.attempt)
    yield Outcome("checks the claim on its host", to.lose(record) if lookup.answer in verbs.ENDS else record, store)


# -- live migration ---------------------------------------------------------------------------------------------------


def _prepare_copy(state: State, record: Record, _site: Site) -> Iterator[Outcome]:
    if to.is_aborted(record):
        yield _unchanged("gives the aborted migration up", state, to.give_up(record))
        return
    yield _unchanged("has waited long enough", state, to.give_up(record))
    if not record.move.is_checked:
        source, destination = state.agents[record.move.source], state.agents[record.host]
        if source.life != ALIVE or destination.life != ALIVE:
            yield _unchanged("waits for the checks", state, record)
            return
        live = [attempt for attempt in source.attempts if attempt.is_live]
        if not live or live[-1].stage != "spawned":
            yield _unchanged("fails the check at the source", state, to.give_up(record, is_final=True))
            return
        if any(attempt.is_live for attempt in destination.attempts):
            yield _unchanged("fails the check at the destination", state, to.give_up(record))
            return
        record = to.with_migration(record, is_checked=True)
    message = Message("incoming", record.host, record.attempt, role="destination")
    yield _unchanged("prepares the destination", state, record, message)


def _copy_message(record: Record, site: Site) -> Message:
    move = record.move
    role = POST_COPY if site.post_copy else ""
    return Message("copy", move.source, move.source_attempt, move.request or "start", role, record.attempt)


def _copy(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    yield _unchanged("asks for the copy", state, record, _copy_message(record, site))
    yield _check_claims(state, record)


def _switch(state: State, record: Record, site: Site) -> Iterator[Outcome]:
    message = Message("change", record.host, record.attempt, "run", "destination", record.transition_number)
    if record.move.is_resumed and record.move.phase != "done":
        message = _copy_message(record, site)
    yield _unchanged("asks the destination to run", state, record, message)
    yield _check_claims(state, record)


def _check_claims(state: State, record: Record) -> Outcome:
    store, lookup = verbs.find(state.store, record.move.source_attempt)
    source = lookup.end or lookup.answer
    store, lookup = verbs.find(store, record.attempt)
    destination = lookup.answer
    can_report = state.agents[record.host].life == ALIVE or store.opened[record.host] == verbs.OPEN
    will_report = record.step == "switch" and destination == "released" and can_report
    changed = to.end_live_source(record) if source in verbs.ENDS else None
    if changed is None and destination in verbs.ENDS and not will_report:
        changed = to.lose_destination(record, "lost")
    return Outcome("checks both claims", changed or record, store)


# -- comparison and vouching ------------------------------------------------------------------------------------------


def compare(state: State) -> Iterator[Outcome]:
    """Yield what two comparisons in turn make of a settled record."""
    record = state.record
    if record is None or not reports.is_settled(record):
        return
    store, lookup = verbs.find(state.store, record.attempt)
    existing = reports.knows_move(record, moves=lookup.moves)
    changed = reports.compare_own(record, lookup, is_moves_known=existing)
    if record.status == "ERROR" and changed is not None and changed.step == "cast":
        changed = changed if state.agents[record.host].life == ALIVE else None
    if changed is None and record.moving is not None:
        store, lookup = verbs.find(store, record.move.source_attempt)
        changed = reports.compare_source(record, lookup)
    yield Outcome("compares with the claims", changed or record, store)


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
