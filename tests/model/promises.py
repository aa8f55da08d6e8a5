# SPDX-License-Identifier: Apache-2.0
"""What users are promised, as checks of a state, of a transition, and of a state of rest."""

from tests.model import verbs
from tests.model.state import ALIVE, OPEN, UNREPORTED, Attempt, Record, State, Store

RUNS_TWICE = "runs twice"
WRONGLY_ENDED = "a guest was ended that nobody asked to end"
LAST_COPY = "the last copy was removed"
OLD_MEMORY = "a guest continues from old memory"
NO_CLAIM = "a guest runs without a confirmed claim"
TWO_CLAIMS = "two claims say that it runs"
NEVER_RESTS = "it never comes to a good state of rest"


def broken_by_state(state: State) -> str:
    """Return the promise that a state breaks, or ""."""
    running = [
        (host, attempt)
        for host, agent in enumerate(state.agents)
        for attempt in agent.attempts
        if attempt.guest == "running"
    ]
    if len(running) > 1:
        return RUNS_TWICE
    for host, attempt in running:
        agent = state.agents[host]
        has_audited = agent.life == ALIVE and not agent.audit_due and state.store_of(host).opened[host] == OPEN
        if has_audited and not _is_claimed(state, host, attempt):
            return NO_CLAIM
    for store in state.stores:
        if len(store.claims) > 1 and _has_two_claims(store):
            return TWO_CLAIMS
    return ""


def _has_two_claims(store: Store) -> bool:
    """Return whether a partition has two claims that are not the ends of one move; of others it knows none."""
    claims = [claim for claim in store.claims if claim.state != "unverified"]
    own = [claim for claim in claims if claim.role != "source"]
    has_source = len(own) < len(claims)
    return len(claims) - len(own) > 1 or len(own) > 1 or bool(has_source and own and own[0].role == "only")


def _is_claimed(state: State, host: int, attempt: Attempt) -> bool:
    return any(
        claim.attempt == attempt.number and claim.host == host and claim.state in ("confirmed", "unverified")
        for claim in state.store_of(host).claims
    )


def broken_by_step(before: State, after: State) -> str:
    """Return the promise that a step breaks, or "": it ends a guest, or removes the last copy."""
    if before.agents is after.agents or "delete" in after.requests:
        return ""
    if _continues_from_old_memory(before, after):
        return OLD_MEMORY
    for host, (agent, agent_after) in enumerate(zip(before.agents, after.agents, strict=True)):
        if agent is agent_after:
            continue
        remaining = {attempt.number for attempt in agent_after.attempts if attempt.has_disk}
        for attempt in agent.attempts:
            is_removed = attempt.has_disk and attempt.number not in remaining
            if is_removed and (host, attempt.number) not in after.fenced and not _is_secret(before, attempt):
                broken = _broken_by_end(after, attempt)
                if broken:
                    return broken
    return ""


def _continues_from_old_memory(before: State, after: State) -> bool:
    """Return whether a source continues from its memory after a destination has run the guest."""
    continued = [
        paused.number
        for agent, agent_after in zip(before.agents, after.agents, strict=True)
        for paused, changed in zip(agent.attempts, agent_after.attempts, strict=False)
        if paused.number == changed.number and paused.guest == "paused" and changed.guest == "running"
    ]
    ran = [
        attempt.number
        for agent in after.agents
        for attempt in agent.attempts
        if (attempt.stage == "spawned" or attempt.outcome == "gone") and attempt.transition and not attempt.is_incoming
    ]
    return bool(continued) and max(ran, default=0) > min(continued)


def _is_secret(state: State, copied: Attempt) -> bool:
    """Return whether only its source, which is silent or fenced, knew that a guest was completely copied."""
    migration = state.record.migration if state.record is not None else None
    if not copied.is_incoming or (migration is not None and migration.phase):
        return False
    return any(
        attempt.copy is not None
        and attempt.copy.number == copied.number
        and (attempt.reported == UNREPORTED or (host, attempt.number) in state.fenced)
        for host, agent in enumerate(state.agents)
        for attempt in agent.attempts
    )


def _broken_by_end(state: State, ended: Attempt) -> str:
    if ended.guest == "running":
        is_destination = ended.number > 1 and not {"confirm", "evacuate"} & {*state.requests}
        if not is_destination or not {"migrate", "resize", "live-migrate"} & {*state.requests}:
            return WRONGLY_ENDED
    copies = [
        (host, attempt.number)
        for host, agent in enumerate(state.agents)
        for attempt in agent.attempts
        if attempt.has_disk and (agent.life == ALIVE or _ran_at_last(attempt) or _is_source_of(attempt, ended))
    ]
    return "" if set(copies) - {*state.fenced} else LAST_COPY


def _is_source_of(attempt: Attempt, copied: Attempt) -> bool:
    """Return whether a guest that never ran is a copy of this one, which is as new."""
    return copied.is_incoming and attempt.copy is not None and attempt.copy.number == copied.number


def _ran_at_last(attempt: Attempt) -> bool:
    """Return whether the guest ran there until its host failed: its copy is the newest, and returns with the host."""
    return attempt.stage == "spawned"


def is_good_rest(state: State) -> bool:
    """Return whether all is as users expect it when nothing is under way."""
    has_outage = any(agent.life != ALIVE or agent.audit_due for agent in state.agents)
    if has_outage or any(min(store.opened) != OPEN for store in state.stores):
        return False
    live = [(host, attempt) for host, agent in enumerate(state.agents) for attempt in agent.attempts if attempt.is_live]
    claims = {(claim.host, claim.attempt, claim.state) for store in state.stores for claim in store.claims}
    if claims != {(host, attempt.number, "confirmed") for host, attempt in live}:
        return False
    return state.record is None or _is_good_record(state, state.record, live)


def _is_good_record(state: State, record: Record, live: list[tuple[int, Attempt]]) -> bool:
    """Return whether a record rests, and shows what runs."""
    if record.step not in ("done", "verify"):
        return False
    here = [(record.host, record.attempt)]
    guests = [(host, attempt.number) for host, attempt in live]
    running = [(host, attempt.number) for host, attempt in live if attempt.stage == "spawned" and attempt.guest]
    if record.status == "VERIFY_RESIZE":
        source = verbs.source_claim(state.stores[record.move.source_partition])
        is_source = source is not None and source.attempt == record.move.source_attempt
        return running == here and len(guests) == 2 and is_source
    lost_memory = record.migration is not None and record.migration.phase == "failed"  # in post-copy
    is_good = {
        "ACTIVE": running == here == guests,
        "SHUTOFF": not running and guests == here,
        "ERROR": not guests or (lost_memory and len(guests) == 1),
        "DELETED": not guests,
    }
    return record.moving is None and is_good.get(record.status, False)
