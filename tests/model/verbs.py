# SPDX-License-Identifier: Apache-2.0
"""The store's verbs for one instance: each returns the store after it, and its answer. See store/verbs."""

from collections.abc import Sequence
from typing import NamedTuple

from tests.model.rules import holds
from tests.model.state import CLOSED, FENCED, FENCED_BEFORE, NOWHERE, OPEN, Claim, Store

ENDS = frozenset({"released", "aborted", "expired", "fenced"})


class Found(NamedTuple):
    """Answer about a claim: ``end`` is how it ended if a later one is live.

    ``partition`` is that of the answer if all partitions were asked, and it is another one than the record's.
    """

    answer: str
    host: int = NOWHERE
    move: int = 0
    end: str = ""
    partition: int = NOWHERE


class Prepared(NamedTuple):
    """Answer of prepare; ``tried_closed``: an audit may change the refusal."""

    answer: str
    host: int = NOWHERE
    alternates: tuple[int, ...] = ()
    tried_closed: bool = False


class Running(NamedTuple):
    """A live attempt in an audit."""

    attempt: int
    is_confirmed: bool
    role: str
    move: int
    source: int


# -- reading ----------------------------------------------------------------------------------------------------------


def own_claim(store: Store) -> Claim | None:
    """Return the claim that holds the instance's resources: the only one, or the destination."""
    return next((claim for claim in store.claims if claim.role != "source" and claim.state != "unverified"), None)


def source_claim(store: Store) -> Claim | None:
    """Return the claim that the migration holds."""
    return next((claim for claim in store.claims if claim.role == "source" and claim.state != "unverified"), None)


def unverified_claim(store: Store, attempt: int, host: int) -> Claim | None:
    return next((c for c in store.claims if c.state == "unverified" and c.attempt == attempt and c.host == host), None)


def has_unverified(store: Store) -> bool:
    return any(claim.state == "unverified" for claim in store.claims)


def claim_of(store: Store, attempt: int) -> Claim | None:
    return next((claim for claim in store.claims if claim.attempt == attempt and claim.state != "unverified"), None)


def end_of(store: Store, attempt: int) -> str:
    """Return how an attempt ended; one below an ended source or only claim has ended too, unless it is live."""
    ends = dict(store.ended)
    if attempt in ends:
        return ends[attempt]
    is_older = attempt < store.proven and holds("older attempts have ended")
    return "aborted" if is_older and claim_of(store, attempt) is None else ""


def is_open(store: Store, host: int) -> bool:
    return store.opened[host] == OPEN


def may_have_lost_claims(store: Store, host: int) -> bool:
    return store.opened[host] in (CLOSED, FENCED_BEFORE)


def may_have_forgotten(store: Store, destination: int | None = None) -> bool:
    """Return whether an unknown attempt may run on a host that has not audited; ``destination`` NOWHERE: on none."""
    if not holds("unknown attempts wait for audits"):
        return False
    if destination is None:
        return any(store.awaited)
    return destination != NOWHERE and store.awaited[destination]


def may_run(store: Store) -> bool:
    return has_unverified(store) or may_have_forgotten(store)


# -- steps ------------------------------------------------------------------------------------------------------------


def without(store: Store, claim: Claim) -> Store:
    return store._replace(claims=tuple(other for other in store.claims if other != claim))


def with_claim(store: Store, claim: Claim) -> Store:
    return store._replace(claims=tuple(sorted((*store.claims, claim))))


def with_end(store: Store, attempt: int, end: str) -> Store:
    if not holds("the end of an unknown attempt proves nothing"):
        store = store._replace(proven=max(store.proven, attempt))
    return store._replace(ended=tuple(sorted({**dict(store.ended), attempt: end}.items())))


def with_role(store: Store, claim: Claim, role: str, move: int = 0) -> Store:
    return with_claim(without(store, claim), claim._replace(role=role, move=move, source=0))


def end_claim(store: Store, claim: Claim, end: str) -> Store:
    """End a live claim, which makes a destination the only claim when its source ends."""
    store = without(store, claim)
    if claim.state == "unverified":
        return store
    source = claim.source if holds("the end of a destination proves nothing of its source") else 0
    store = store._replace(proven=max(store.proven, source or claim.attempt))
    destination = own_claim(store)
    if claim.role == "source" and destination is not None and destination.move == claim.move:
        store = with_role(store, destination, "only")
    return with_end(store, claim.attempt, end)


def expire(store: Store) -> Store:
    """End an overdue claim, if its host has audited in this epoch."""
    live = own_claim(store)
    is_due = live is not None and live.state == "overdue"
    if live is not None and is_due and (is_open(store, live.host) or not holds("unaudited claims do not expire")):
        return end_claim(store, live, "expired")
    return store


def find_for_host(store: Store, attempt: int, host: int | None) -> tuple[Store, Claim | None, str]:
    """Return (live claim, ""), (live claim, foreign), (None, its end) or (None, "") for an unknown one."""
    store = expire(store)
    claim = claim_of(store, attempt)
    if claim is not None:
        return store, claim, "foreign" if host is not None and claim.host != host else ""
    return store, None, end_of(store, attempt)


def answer_of(claim: Claim) -> str:
    return "prepared" if claim.state == "overdue" else claim.state


# -- verbs ------------------------------------------------------------------------------------------------------------


def prepare(
    store: Store,
    attempt: int,
    candidates: Sequence[int],
    replaces: int,
    *,
    is_fresh: bool,
    move: int = 0,
    source: int = 0,
) -> tuple[Store, Prepared]:
    """Prepare an attempt on the first open candidate; ``replaces`` 0: it is the first one."""
    store = expire(store)
    moved = source_claim(store)
    live = own_claim(store)
    is_replaced = moved is not None and replaces == moved.attempt and holds("the source of a move is not replaced")
    if is_replaced or (moved is not None and attempt == moved.attempt):
        return store, Prepared("conflict", live.host if live else NOWHERE)
    is_repeated = live is not None and live.attempt == attempt
    if live is not None and is_repeated and (live.move, live.source) == (move, source):
        if live.state == "overdue":
            return store, Prepared("closed", live.host)
        return store, Prepared("prepared", live.host, live.alternates)
    refusal = _contradiction(store, moved, live, attempt, (move, source))
    refusal = refusal or _refusal(store, live, attempt, replaces, is_fresh)
    if refusal:
        return store, Prepared(refusal, live.host if live else NOWHERE)
    accepting = [index for index, host in enumerate(candidates) if _accepts(store, host)]
    if not accepting:
        return store, Prepared("refused", tried_closed=bool(candidates))
    host, rest = candidates[accepting[0]], tuple(candidates[accepting[0] + 1 :])
    if live is not None:
        store = end_claim(store, live, "aborted")
    elif replaces and not end_of(store, replaces):
        store = with_end(store, replaces, "aborted")
    if not holds("a destination names its move"):
        move, source = (0, 0) if moved is None else (moved.move, moved.attempt)
    role = "destination" if move else "only"
    store = with_claim(store, Claim(attempt, host, "prepared", role, alternates=rest, move=move, source=source))
    return store, Prepared("prepared", host, rest)


def _accepts(store: Store, host: int) -> bool:
    return is_open(store, host) or not holds("no claims before the audit")


def _contradiction(store: Store, moved: Claim | None, live: Claim | None, attempt: int, named: tuple[int, int]) -> str:
    """Return the answer if the store knows of another move than the one that the attempt names."""
    move, source = named
    if move in store.ended_moves:
        return "conflict"
    others = [] if moved is None or (moved.move, moved.attempt) == named else [moved]
    is_named = live is not None and (live.attempt == source or (live.move, live.source) == named)
    if live is not None and not is_named and (move or live.attempt == attempt):
        others.append(live)
    if not others or not holds("a prepare contradicts no known move"):
        return ""
    is_certain = not may_run(store) and all(is_open(store, other.host) and not other.is_orphan for other in others)
    return "conflict" if is_certain else "closed"


def _refusal(store: Store, live: Claim | None, attempt: int, replaces: int, is_fresh: bool) -> str:
    ends = dict(store.ended)
    claims = (live, source_claim(store))
    is_late = any(claim is not None and attempt < claim.attempt for claim in claims)
    if holds("ended attempts are not prepared") and (is_late or (ends and attempt <= max(ends))):
        return "ended"
    if live is not None:
        if replaces != live.attempt:
            is_reported = live.state == "confirmed" and is_open(store, live.host) and not live.is_orphan
            return "closed" if replaces > live.attempt and not is_reported else "conflict"
        if live.state == "confirmed" and holds("a confirmed claim belongs to its host"):
            return "confirmed"
    return "closed" if _is_closed(store, live, replaces, is_fresh) else ""


def _is_closed(store: Store, live: Claim | None, replaces: int, is_fresh: bool) -> bool:
    if has_unverified(store) and holds("unverified claims close their consumer"):
        return True
    if live is not None:
        return not is_open(store, live.host)
    has_ended = not replaces or bool(end_of(store, replaces))
    return not (is_fresh and has_ended) and may_have_forgotten(store)


def confirm(store: Store, host: int, attempt: int) -> tuple[Store, str]:
    """Confirm a claim for its host."""
    store, claim, answer = find_for_host(store, attempt, host)
    if claim is None:
        return store, answer or "unknown"
    if answer:
        return store, answer
    if claim.state in ("prepared", "overdue"):
        is_unaudited = not is_open(store, host) and holds("no claim is confirmed before the audit")
        if is_unaudited or (has_unverified(store) and holds("unverified claims close their consumer")):
            return store, "closed"
        confirmed = claim._replace(state="confirmed", is_orphan=False)
        store = with_claim(without(store, claim), confirmed)
    return store, "confirmed"


def abort(store: Store, attempt: int, host: int | None, destination: int | None) -> tuple[Store, Found]:
    """End a prepared claim; ``destination`` is the only host that may run it, NOWHERE: none may, None: any."""
    store, claim, answer = find_for_host(store, attempt, host)
    if answer:
        return store, Found(answer, claim.host if claim else NOWHERE)
    if claim is None:
        if may_have_forgotten(store, destination):
            return store, Found("closed")
        if holds("an unknown claim gets a tombstone"):
            store = with_end(store, attempt, "unknown")
        return store, Found("unknown")
    if claim.state == "confirmed" and holds("a confirmed claim belongs to its host"):
        return store, Found("confirmed", claim.host)
    is_unaudited = not is_open(store, claim.host) and holds("unaudited claims are not aborted")
    if is_unaudited and destination in (None, claim.host):
        return store, Found("closed", claim.host)
    return end_claim(store, claim, "aborted"), Found("aborted", claim.host)


def release(store: Store, host: int, attempt: int) -> tuple[Store, str]:
    """Release a claim for its host."""
    store, claim, answer = find_for_host(store, attempt, host)
    unverified = unverified_claim(store, attempt, host)
    if unverified is not None:
        store = end_claim(store, unverified, "released")
    if answer:
        return store, "released" if answer == "unknown" else answer
    if claim is None:
        if unverified is None and holds("an unknown claim gets a tombstone"):
            store = with_end(store, attempt, "released")
        return store, "released"
    return end_claim(store, claim, "released"), "released"


def find(store: Store, attempt: int) -> tuple[Store, Found]:
    """Look a claim up."""
    store, claim, answer = find_for_host(store, attempt, None)
    if claim is not None:
        return store, Found(answer_of(claim), claim.host, claim.move)
    answer = answer or ("closed" if may_run(store) else "unknown")
    claims = (own_claim(store), source_claim(store) if holds("a source is a later attempt") else None)
    for live in claims:
        if live is not None and live.attempt > attempt:
            return store, Found("conflict", live.host, end=answer)
    return store, Found(answer)


def begin_move(store: Store, attempt: int, move: int) -> tuple[Store, str]:
    """Make a confirmed claim the source of the migration."""
    store, claim, answer = find_for_host(store, attempt, None)
    if claim is None:
        return store, answer or ("closed" if may_run(store) else "unknown")
    if claim.state != "confirmed" or (claim.role == "source" and claim.move == move):
        return store, answer_of(claim)
    if move in store.ended_moves and holds("an ended migration never begins again"):
        return store, "ended"
    if source_claim(store) is not None:
        return store, "conflict"
    return with_role(store, claim, "source", move), "confirmed"


def end_move(store: Store, attempt: int, move: int) -> tuple[Store, str]:
    """Make the source of the migration the only claim again."""
    store, claim, answer = find_for_host(store, attempt, None)
    if claim is None:
        return store, answer or ("closed" if may_run(store) else "unknown")
    if claim.role == "source" and claim.move != move:
        return store, "ended"
    if claim.role == "source" and own_claim(store) is not None and holds("a move ends once no destination has a claim"):
        return store, "conflict"
    if may_run(store):
        return store, "closed"
    if claim.role == "source":
        store = with_role(store, claim, "only")
    return store._replace(ended_moves=tuple(sorted({*store.ended_moves, move}))), answer_of(claim)


def fence(store: Store, host: int) -> Store:
    """End all claims of a host, and close it."""
    for claim in [claim for claim in store.claims if claim.host == host]:
        current = claim if claim in store.claims else claim_of(store, claim.attempt)
        if current is None:
            continue
        is_expired = current.state == "overdue" and is_open(store, host)
        store = end_claim(store, current, "expired" if is_expired else "fenced")
    return _with_opened(store, host, FENCED)


def forget(earlier: Store, last: Store) -> Store:
    """Return what a failover to a replica that lags behind leaves: earlier contents in a new epoch.

    Schedulers name the hosts that were open in the ``last`` contents, which they followed.
    """
    awaited = tuple(
        was or opened in (OPEN, CLOSED) or opened_later == OPEN
        for was, opened, opened_later in zip(earlier.awaited, earlier.opened, last.opened, strict=True)
    )
    closed = {OPEN: CLOSED, FENCED: FENCED_BEFORE}
    opened = tuple(closed.get(value, value) for value in earlier.opened)
    return earlier._replace(opened=opened, awaited=awaited)


def _with_opened(store: Store, host: int, opened: int) -> Store:
    values = tuple(opened if number == host else value for number, value in enumerate(store.opened))
    awaited = tuple(False if number == host else value for number, value in enumerate(store.awaited))
    return store._replace(opened=values, awaited=awaited)


# -- audits -----------------------------------------------------------------------------------------------------------


def audit(store: Store, host: int, running: Sequence[Running], *, grace_is_over: bool) -> tuple[Store, tuple[str, ...]]:
    """Reconcile the claims of a host with what runs there."""
    answers = []
    for claim in running:
        store, answer = _reconcile(store, host, claim)
        answers.append(answer)
    store = _end_unreported(store, host, {claim.attempt for claim in running}, grace_is_over)
    return _with_opened(store, host, OPEN), tuple(answers)


def vouch(store: Store, host: int, attempt: int) -> tuple[Store, str]:
    """Make an unverified claim one of its instance: the conductor's record names it."""
    store, claim, answer = find_for_host(store, attempt, host)
    if claim is not None or answer:
        return store, answer or (answer_of(claim) if claim else "")
    unverified = unverified_claim(store, attempt, host)
    if unverified is None:
        return store, "unknown"
    live = own_claim(store)
    vouched = _reported_claim(store, host, unverified, None)
    others = _other_claims(store, live, vouched)
    if any(other.attempt > attempt or _is_reported(store, other) for other in others) or _has_other_claim(
        store, vouched
    ):
        return store, "conflict"
    store = end_claim(store, unverified, "released")
    return with_claim(_end_contradicting_claims(store, others, vouched), vouched), "confirmed"


def _reconcile(store: Store, host: int, claim: Running) -> tuple[Store, str]:
    existing = claim_of(store, claim.attempt)
    if existing is not None and existing.host == host:
        return _reconcile_live(*_restore_role(store, existing, claim), claim)
    if existing is not None:
        return _reconcile_elsewhere(store, existing, host, claim)
    live = own_claim(store)
    is_source = live is not None and live.source == claim.attempt
    end = dict(store.ended).get(claim.attempt, "") if is_source else end_of(store, claim.attempt)
    if end:
        return store, "aborted" if end == "unknown" else end
    return _reconcile_unknown(store, host, claim, live)


def _reconcile_unknown(store: Store, host: int, claim: Running, live: Claim | None) -> tuple[Store, str]:
    """Reconcile a reported attempt that the store does not know."""
    reported = _reported_claim(store, host, claim, live)
    others = _other_claims(store, live, reported)
    if any(other.attempt > claim.attempt for other in others):
        return store, "conflict"
    is_contradicted = any(_is_reported(store, other) for other in others) or _has_other_claim(store, reported)
    if not may_have_lost_claims(store, host) or is_contradicted:
        return _store_as_unverified(store, host, claim, otherwise="aborted")
    if not claim.is_confirmed:
        return with_end(store, claim.attempt, "aborted"), "aborted"
    return with_claim(_end_contradicting_claims(store, others, reported), reported), "confirmed"


def _reconcile_elsewhere(store: Store, existing: Claim, host: int, claim: Running) -> tuple[Store, str]:
    """Reconcile a reported attempt that is live on another host."""
    if claim.is_confirmed and existing.state in ("prepared", "overdue") and may_have_lost_claims(store, host):
        return with_claim(without(store, existing), _reported_claim(store, host, claim, None)), "confirmed"
    if claim.is_confirmed and store.opened[host] < 0:
        return store, "fenced"
    return _store_as_unverified(store, host, claim, otherwise="conflict")


def _reported_claim(store: Store, host: int, claim: "Running | Claim", live: Claim | None) -> Claim:
    """Return the claim of a reported attempt with its role: as its agent knows it, or as a later attempt shows it."""
    role, move, source = _move_of(store, claim, live)
    return Claim(claim.attempt, host, "confirmed", role, move=move, source=source)


def _move_of(store: Store, claim: "Running | Claim", live: Claim | None) -> tuple[str, int, int]:
    if live is not None and live.source == claim.attempt:
        return "source", live.move, 0
    is_over = not claim.move or claim.move in store.ended_moves or not holds("audits restore roles")
    return ("only", 0, 0) if is_over else (claim.role, claim.move, claim.source)


def _are_ends_of_one_move(live: Claim, claim: Claim) -> bool:
    if not holds("a later attempt does not end its source"):
        return False
    return live.source == claim.attempt or claim.source == live.attempt


def _other_claims(store: Store, live: Claim | None, claim: Claim) -> list[Claim]:
    """Return the claims outside the move of a forgotten one."""
    claims = (live, source_claim(store))
    return [other for other in claims if other is not None and not _are_ends_of_one_move(other, claim)]


def _has_other_claim(store: Store, claim: Claim) -> bool:
    """Return whether another claim is the source of the same move."""
    source = source_claim(store)
    return claim.role == "source" and source is not None and source.move == claim.move


def _is_reported(store: Store, live: Claim) -> bool:
    is_reported = live.state == "confirmed" and is_open(store, live.host) and not live.is_orphan
    return is_reported and holds("no audit ends a reported claim")


def _end_contradicting_claims(store: Store, others: Sequence[Claim], claim: Claim) -> Store:
    """End the others, and make the claim that a destination names the source of its move."""
    for other in others:
        store = end_claim(store, other, _forgotten_end(other))
    moved = claim_of(store, claim.source)
    return store if moved is None else with_role(store, moved, "source", claim.move)


def _forgotten_end(claim: Claim) -> str:
    return "released" if claim.state == "confirmed" else "aborted"


def _store_as_unverified(store: Store, host: int, claim: Running, *, otherwise: str) -> tuple[Store, str]:
    """Count a claim that is reported as confirmed as unverified."""
    if not claim.is_confirmed:
        return store, otherwise
    if store.opened[host] == FENCED:
        return store, "fenced"
    if unverified_claim(store, claim.attempt, host) is None:
        store = with_claim(store, _reported_claim(store, host, claim, None)._replace(state="unverified"))
    return store, "unverified"


def _restore_role(store: Store, existing: Claim, claim: Running) -> tuple[Store, Claim]:
    """Make a live claim the source of the migration that its agent names, if the store forgot that."""
    role, move, _source = _move_of(store, claim, None)
    source = source_claim(store)
    is_forgotten = role == "source" and existing.move != move and may_have_lost_claims(store, existing.host)
    if not is_forgotten or (source is not None and source.move == move):
        return store, existing
    others = [
        other
        for other in (own_claim(store), source)
        if other is not None
        and other.attempt != existing.attempt
        and (other.move, other.source) != (move, existing.attempt)
    ]
    if any(_is_reported(store, other) for other in others):
        return store, existing
    for other in others:
        store = end_claim(store, other, _forgotten_end(other))
    current = claim_of(store, existing.attempt) or existing  # the end of its source has changed its role
    return with_role(store, current, "source", move), current._replace(role="source", move=move, source=0)


def _reconcile_live(store: Store, live: Claim, claim: Running) -> tuple[Store, str]:
    if live.state == "confirmed" or claim.is_confirmed:
        confirmed = live._replace(state="confirmed", is_orphan=False)
        return with_claim(without(store, live), confirmed), "confirmed"
    end = _end_of_prepared(store, live)
    if not end:
        return store, "prepared"
    return end_claim(store, live, end), end


def _end_of_prepared(store: Store, live: Claim) -> str:
    """Return how a claim ends that its host has not confirmed, or ""."""
    if live.state == "overdue":
        return "expired"
    return "" if is_open(store, live.host) or not holds("an audit aborts unconfirmed claims") else "aborted"


def _end_unreported(store: Store, host: int, reported: set[int], grace_is_over: bool) -> Store:
    for listed in [claim for claim in store.claims if claim.host == host]:
        claim = listed if listed in store.claims else claim_of(store, listed.attempt)  # its role may have changed
        if claim is None:
            continue
        is_unverified = claim.state == "unverified"
        live = claim_of(store, claim.attempt) if is_unverified else None
        if live is not None and live.host == host:
            store = end_claim(store, claim, "released")
        elif claim.attempt in reported:
            if is_unverified:
                store = with_claim(without(store, claim), claim._replace(is_orphan=False))
        elif claim.state in ("prepared", "overdue"):
            end = _end_of_prepared(store, claim)
            store = end_claim(store, claim, end) if end else store
        elif grace_is_over or (is_unverified and end_of(store, claim.attempt)):
            store = end_claim(store, claim, "released")
        else:
            store = with_claim(without(store, claim), claim._replace(is_orphan=True))
    return store
