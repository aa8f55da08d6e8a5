# SPDX-License-Identifier: Apache-2.0
"""What an agent does with messages, and the steps of its saga. See compute_agent/attempts."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.model.rules import holds
from tests.model.state import ALIVE, ASKED_AGAIN, OFF, REPORTED, SILENT, UNREPORTED, Agent, Attempt, Copy, Message
from tests.model.verbs import Running

# Answers of an audit for a claim that is over.
OVER = frozenset({"aborted", "expired", "released", "fenced", "ended", "conflict", "foreign"})


class Report(NamedTuple):
    """What a host reports of an attempt."""

    attempt: int
    kind: str
    host: int
    copy_number: int
    copy_phase: str
    transition: int
    held_for: int


def journalled(agent: Agent, number: int) -> Attempt | None:
    return next((attempt for attempt in agent.attempts if attempt.number == number), None)


def put(agent: Agent, attempt: Attempt) -> Agent:
    others = tuple(other for other in agent.attempts if other.number != attempt.number)
    return agent._replace(attempts=tuple(sorted((*others, attempt), key=lambda item: item.number)))


def end(attempt: Attempt, outcome: str, claim_end: str) -> Attempt:
    """Return the attempt as ended: its guest is stopped, then its end is journalled."""
    return attempt._replace(
        stage="gone",
        outcome=outcome,
        claim_end=claim_end,
        reported=UNREPORTED,
        is_copying=False,
        held_for=0,
        guest="",
        has_disk=False,
    )


def outcome_if_ended(attempt: Attempt) -> str:
    return "gone" if attempt.reported == REPORTED else "refused"


def report_again(agent: Agent, attempt: Attempt) -> Agent:
    if attempt.reported != REPORTED:
        return agent
    return put(agent, attempt._replace(reported=ASKED_AGAIN))


def other_is_on(agent: Agent, number: int) -> bool:
    return any(attempt.is_on and attempt.number != number for attempt in agent.attempts)


# -- messages ---------------------------------------------------------------------------------------------------------


def receive(agent: Agent, message: Message) -> Agent:
    """Return the agent after a message."""
    attempt = journalled(agent, message.attempt)
    if message.kind in ("build", "incoming"):
        return _build(agent, message, attempt)
    if message.kind == "terminate":
        return _terminate(agent, message, attempt)
    if attempt is None:
        return put(agent, end(Attempt(message.attempt, "intent"), "gone", "release"))
    if message.kind == "copy":
        return _copy(agent, message, attempt)
    return _change(agent, message, attempt)


def _build(agent: Agent, message: Message, existing: Attempt | None) -> Agent:
    if existing is not None:
        return report_again(agent, existing)
    is_incoming = message.kind == "incoming"
    intent = Attempt(
        message.attempt,
        "intent",
        message.role or "only",
        is_incoming=is_incoming,
        move=message.move,
        source=message.source,
    )
    is_here = is_incoming and any(other.is_live for other in agent.attempts)
    latest = max((max(other.number, other.transition) for other in agent.attempts), default=0)
    if is_here or (latest > intent.number and holds("a late build starts nothing")):
        return put(agent, end(intent, "refused", "abort"))
    for other in agent.attempts:
        if _has_ended_before(other, intent.number):
            agent = put(agent, end(other, outcome_if_ended(other), "release"))
    return put(agent, intent)


def _terminate(agent: Agent, message: Message, existing: Attempt | None) -> Agent:
    number = message.attempt
    for other in agent.attempts:
        if other.stage == "intent" and _has_ended_before(other, number):
            agent = put(agent, end(other, "gone", "release"))
    return put(agent, end_by_request(existing or Attempt(number, "intent")))


def end_by_request(attempt: Attempt) -> Attempt:
    has_run = not attempt.is_incoming or not holds("a guest that was only to be copied has not run")
    return end(attempt, "gone" if has_run else "failed", "release")


def _has_ended_before(older: Attempt, number: int) -> bool:
    is_source = older.role == "source" and holds("a build does not end the source of its move")
    return older.is_live and not is_source and max(older.number, older.transition) < number


def _change(agent: Agent, message: Message, attempt: Attempt) -> Agent:
    is_late = message.number < attempt.transition and holds("agents ignore late messages about moves")
    if message.action == "end" and not message.role:
        is_late = is_late and holds("a guest that followed a later message is not ended")
    if not attempt.is_live or is_late:
        return report_again(agent, attempt)
    if message.action == "end":
        return put(agent, end_by_request(attempt))
    if _is_outside_its_move(attempt, message):
        numbered = attempt._replace(transition=message.number)
        return report_again(put(agent, numbered), numbered)
    role = message.role or "only"
    attempt = attempt._replace(
        transition=message.number, role=role, move=0 if role == "only" else message.move, source=message.source
    )
    if attempt.role == "only":
        attempt = attempt._replace(copy=None, is_copying=False)
    if message.action == "run" and attempt.stage == "stopped" and attempt.guest == "paused":
        boots = holds("a source boots if its destination may have run")
        attempt = attempt._replace(guest="off" if boots else "paused")
    agent = put(agent, attempt)
    return _stop(agent, attempt) if message.action == "stop" else _run(agent, attempt)


def _is_outside_its_move(attempt: Attempt, message: Message) -> bool:
    """Return whether the guest was stopped for a move that the record has lost: the message does not start it."""
    if attempt.held_for in (0, message.move):
        return False
    starts_for_other = message.move != 0 and message.action != "stop"
    return (starts_for_other and holds("a guest that is off for another move is not started")) or (
        message.number == attempt.transition
    )


def _stop(agent: Agent, attempt: Attempt) -> Agent:
    if attempt.stage == "stopped":
        stopped = attempt._replace(held_for=attempt.held_for if attempt.move else 0)
        return report_again(put(agent, stopped), stopped)
    if attempt.stage in ("intent", "incoming"):
        return agent
    if attempt.stage == "confirmed" and not attempt.guest:
        return put(agent, attempt._replace(starts_off=True, held_for=attempt.move, reported=UNREPORTED))
    return put(agent, attempt._replace(stage="stopped", held_for=attempt.move, guest="off", reported=UNREPORTED))


def _run(agent: Agent, attempt: Attempt) -> Agent:
    if other_is_on(agent, attempt.number):
        return agent
    if attempt.stage in ("stopped", "incoming") or attempt.starts_off:
        started = attempt._replace(
            stage="confirmed", is_incoming=False, held_for=0, reported=UNREPORTED, starts_off=False
        )
        return put(agent, started)
    return report_again(agent, attempt)


def _copy(agent: Agent, message: Message, attempt: Attempt) -> Agent:
    if not attempt.is_live or message.number < attempt.transition:
        return report_again(agent, attempt)
    attempt = attempt._replace(role="source", transition=message.number, move=message.move, source=0)
    last = attempt.copy
    if last is None or message.number > last.number:
        return _first_of_copy(agent, message, attempt)
    is_running = message.number == last.number and last.phase == "running"
    if is_running and message.action == "abort":
        return put(agent, _failed_copy(attempt))
    if is_running and message.action == "force":
        return _force(agent, attempt, last)
    return report_again(agent, journalled(agent, message.attempt) or attempt)


def _first_of_copy(agent: Agent, message: Message, attempt: Attempt) -> Agent:
    attempt = attempt._replace(copy=Copy(message.number, "running", POST_COPY in message.role))
    if message.action == "abort":
        return put(agent, _failed_copy(attempt))
    if message.action == "force":
        return agent
    if attempt.stage != "spawned" or not attempt.is_on:
        return put(agent, _failed_copy(attempt))
    return put(agent, attempt._replace(is_copying=True, reported=UNREPORTED))


POST_COPY = "post-copy"


def _force(agent: Agent, attempt: Attempt, last: Copy) -> Agent:
    if not attempt.is_copying:
        return put(agent, _failed_copy(attempt))
    if last.post_copy:
        return put(agent, _stopped_for_copy(attempt, "post-copy"))
    return report_again(agent, attempt)


def _failed_copy(attempt: Attempt) -> Attempt:
    assert attempt.copy is not None
    return attempt._replace(copy=attempt.copy._replace(phase="failed"), is_copying=False, reported=UNREPORTED)


def _stopped_for_copy(attempt: Attempt, phase: str) -> Attempt:
    """Return the source after its guest was paused; its memory is kept until all of it is copied."""
    assert attempt.copy is not None
    guest = "paused" if attempt.is_on else attempt.guest
    return attempt._replace(
        stage="stopped",
        held_for=attempt.move,
        guest=guest,
        copy=attempt.copy._replace(phase=phase),
        is_copying=phase == "post-copy",
        reported=UNREPORTED,
    )


# -- the saga ---------------------------------------------------------------------------------------------------------


def copy_events(agent: Agent, *, may_fail: bool) -> Iterator[tuple[str, Agent]]:
    """Yield what becomes of the copies that are under way: they are complete, fail, or were interrupted."""
    for attempt in agent.attempts:
        copy = attempt.copy
        if not attempt.is_live or copy is None or copy.phase not in ("running", "post-copy"):
            continue
        expected = "stopped" if copy.phase == "post-copy" else "spawned"
        if not attempt.is_copying or attempt.stage != expected:
            yield "the copy was interrupted", put(agent, _failed_copy(attempt))
            continue
        yield "the copy is complete", put(agent, _stopped_for_copy(attempt, "done"))
        if may_fail:
            yield "the copy fails", put(agent, _failed_copy(attempt))


def after_confirm(attempt: Attempt, answer: str) -> Attempt:
    """Return an intent after the answer to its confirm."""
    if answer == "confirmed":
        return attempt._replace(stage="incoming" if attempt.is_incoming else "confirmed")
    if answer in ("closed", "prepared"):
        return attempt
    return end(attempt, "refused", "")


def start(agent: Agent, attempt: Attempt, *, fails: bool = False) -> Agent:
    """Start the guest of a confirmed attempt, or create the paused one of an incoming attempt."""
    if other_is_on(agent, attempt.number) or fails:
        return put(agent, end(attempt, "failed", "release"))
    if attempt.stage == "incoming":
        return put(agent, attempt._replace(guest=attempt.guest or "paused"))
    if attempt.starts_off:
        return put(agent, attempt._replace(stage="stopped", guest="off", has_disk=True, starts_off=False))
    return put(agent, attempt._replace(stage="spawned", guest="running", has_disk=True))


def report_of(attempt: Attempt, host: int) -> Report | None:
    """Return what is to be reported of an attempt now, or None."""
    if attempt.reported == REPORTED:
        return None
    is_over = attempt.stage == "gone" and (not attempt.claim_end or attempt.is_settled)
    is_state = (attempt.stage == "spawned" and attempt.guest) or attempt.stage == "stopped"
    if not is_over and not is_state and not (attempt.stage == "incoming" and attempt.guest):
        return None
    kinds = {"spawned": "active", "stopped": "stopped", "incoming": "incoming"}
    kind = kinds.get(attempt.stage, attempt.outcome)
    copy = attempt.copy
    number, phase = (copy.number, copy.phase) if copy else (0, "")
    return Report(attempt.number, kind, host, number, phase, attempt.transition, attempt.held_for)


def after_report(attempt: Attempt) -> Attempt:
    return attempt._replace(reported=REPORTED, is_settled=False)


def running_claims(agent: Agent) -> tuple[Running, ...]:
    """Return what an audit reports: the live attempts, by their stages."""
    live = [attempt for attempt in agent.attempts if attempt.is_live]
    ordered = sorted(live, key=lambda attempt: STAGES.index(attempt.stage))
    return tuple(
        Running(attempt.number, attempt.stage != "intent", attempt.role, attempt.move, attempt.source)
        for attempt in ordered
    )


STAGES = ("intent", "confirmed", "incoming", "spawned", "stopped")


def after_audit(agent: Agent, claims: Sequence[Running], answers: Sequence[str]) -> Agent:
    """Return the agent after the answers to its audit: attempts whose claims are over have ended."""
    for claim, answer in zip(claims, answers, strict=True):
        attempt = journalled(agent, claim.attempt)
        if answer in OVER and attempt is not None:
            agent = put(agent, end(attempt, outcome_if_ended(attempt), ""))
    return agent._replace(audit_due=False)


# -- its life ---------------------------------------------------------------------------------------------------------


def restart(agent: Agent) -> Agent:
    """Return the agent that takes over from one that was killed, or whose machine lost its power."""
    successor = Agent(ALIVE, holds("agents audit before they act"))
    for attempt in agent.attempts:
        successor = put(successor, _taken_over(attempt))
    return successor


def _taken_over(attempt: Attempt) -> Attempt:
    reported = REPORTED if attempt.reported == ASKED_AGAIN else attempt.reported
    attempt = attempt._replace(is_settled=False, is_copying=False, reported=reported)
    if not attempt.is_live:
        return attempt
    keeps_memory = attempt.copy is not None and attempt.copy.phase != "failed"
    if attempt.stage == "stopped" and not keeps_memory and attempt.guest:
        return attempt._replace(guest="off")
    if attempt.stage == "stopped" and not attempt.guest:
        return attempt._replace(stage="confirmed", starts_off=True)
    if attempt.stage == "spawned" and not attempt.is_on:
        return attempt._replace(stage="confirmed")
    if attempt.stage == "incoming" and not attempt.guest:
        return end(attempt, "failed", "release")
    return attempt


def power_off(agent: Agent) -> Agent:
    """Return a host without power: its guests are lost, their disks are not."""
    return Agent(OFF, True, tuple(attempt._replace(guest="", is_copying=False) for attempt in agent.attempts))


def silence(agent: Agent) -> Agent:
    return agent._replace(life=SILENT)


def resume(agent: Agent) -> Agent:
    """Return an agent after a suspension that was longer than [compute] isolation_timeout."""
    return agent._replace(life=ALIVE, audit_due=agent.audit_due or holds("agents audit before they act"))


def except_guests(agent: Agent) -> Agent:
    """Return a machine that was fenced but not off: guests that run there are excepted from the promise."""
    attempts = tuple(
        attempt._replace(guest="excepted") if attempt.guest == "running" else attempt for attempt in agent.attempts
    )
    return agent._replace(attempts=attempts)
