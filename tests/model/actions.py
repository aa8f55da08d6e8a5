# SPDX-License-Identifier: Apache-2.0
"""All that may happen next: steps of conductor and agents, requests, faults, and what ends faults."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.model import agents, reports, requests, saga, verbs
from tests.model.agents import put
from tests.model.rules import holds
from tests.model.state import ALIVE, OFF, OPEN, SILENT, Agent, Attempt, Message, Record, Snapshot, State, Store

# Kinds of actions. Only the first are what the cluster does by itself, and end in a state of rest.
PROGRESS, REQUEST, FAULT = "progress", "request", "fault"
VERBS = ("prepare", "begin_move", "confirm", "release")
CLAIMS_FORGOTTEN, RECORDS_FORGOTTEN = "THE PARTITION'S STORE FORGETS", "THE CONDUCTORS' STORE FORGETS"
ALL_FORGOTTEN = "ALL STORES FORGET"


class Action(NamedTuple):
    """One thing that may happen, and the state after it."""

    label: str
    kind: str
    state: State


def actions(state: State, plan: requests.Plan) -> Iterator[Action]:
    """Yield each action that is possible in a state."""
    yield from _conductor(state, plan)
    for host in range(len(state.agents)):
        yield from _agent(state, host)
    yield from _late_message(state, plan.site)
    yield from _requests(state, plan)
    yield from _outages(state, plan)
    yield from _deadline(state)
    yield from _loss(state)


# -- helpers ----------------------------------------------------------------------------------------------------------


def with_agent(state: State, host: int, agent: Agent) -> State:
    return state._replace(agents=tuple(agent if number == host else other for number, other in enumerate(state.agents)))


def deliver(state: State, message: Message) -> State:
    """Let a message arrive; that of a host without a living agent, or for another partition, is lost."""
    agent = state.agents[message.host]
    if agent.life != ALIVE or message.partition not in (None, state.store_of(message.host).partition):
        return state
    return _with_copied_disks(with_agent(state, message.host, agents.receive(agent, message)))


def _with_copied_disks(state: State) -> State:
    """Return the state in which a paused destination has the disk: that is copied before the source stops."""
    copied = [attempt.copy for agent in state.agents for attempt in agent.attempts if attempt.copy is not None]
    numbers = {copy.number for copy in copied if copy.phase in ("done", "post-copy")}
    for host, agent in enumerate(state.agents):
        for attempt in agent.attempts:
            if attempt.number in numbers and attempt.guest == "paused" and not attempt.has_disk:
                state = with_agent(state, host, put(agent, attempt._replace(has_disk=True)))
    return state


def spend(state: State, fault: str) -> State:
    return state._replace(left=state.left._replace(**{fault: getattr(state.left, fault) - 1}))


# -- the conductor ----------------------------------------------------------------------------------------------------


def _conductor(state: State, plan: requests.Plan) -> Iterator[Action]:
    for outcome in saga.step(state, plan.site):
        yield from _executed(state, outcome, plan)
    for outcome in saga.compare(state):
        if _no_report_is_due(state):
            compared = state._replace(record=outcome.record, stores=outcome.stores)
            yield Action(f"conductor {outcome.label}", PROGRESS, compared)
    yield from _vouch(state)


def _executed(state: State, outcome: saga.Outcome, plan: requests.Plan) -> Iterator[Action]:
    label, message = f"conductor {outcome.label}", outcome.message
    executed = state._replace(stores=outcome.stores)
    recorded = executed._replace(record=outcome.record)
    yield Action(label, PROGRESS, recorded if message is None else deliver(recorded, message))
    call = message or _call(state, plan.site)
    if state.left.late and state.late is None and call is not None:
        withheld = spend(recorded, "late")._replace(late=call)
        if message is not None:
            yield Action(f"{label}; the message is late", FAULT, withheld)
            withheld = deliver(withheld, message)
        yield Action(f"{label}; it arrives again later", FAULT, withheld)
    if state.left.crashes and outcome.record != state.record:
        unrecorded = spend(executed, "crashes")
        unrecorded = unrecorded if message is None else deliver(unrecorded, message)
        yield Action(f"{label}, and is killed before it records that", FAULT, unrecorded)


def _call(state: State, site: saga.Site) -> Message | None:
    """Return the call of a verb that the due step makes, as one that may be executed late."""
    record = state.record
    if record is None:
        return None
    if record.step == "begin_move":
        return Message("begin_move", record.move.source, record.move.source_attempt, move=record.move.number)
    if record.step in ("select", "destination", "evacuate"):
        host = 0 if record.step == "select" or len(state.stores) == 1 else site.destination[0]
        return Message(
            *("prepare", host, record.attempt, record.step, "fresh" if record.is_certain else ""),
            **saga.move_of(record),
        )
    return None


def _no_report_is_due(state: State) -> bool:
    """Return whether no living agent has an end to report: the next comparison is minutes later than a report."""
    return not any(
        agent.life == ALIVE and attempt.reported != agents.REPORTED and attempt.stage == "gone"
        for agent in state.agents
        for attempt in agent.attempts
    )


def _vouch(state: State) -> Iterator[Action]:
    """Let the conductor check unverified claims: it vouches for those that the record names."""
    for claim in [claim for store in state.stores for claim in store.claims]:
        if claim.state != "unverified" or not reports.is_named(state.record, claim.attempt, claim.host):
            continue
        store, answer = verbs.vouch(state.store_of(claim.host), claim.host, claim.attempt)
        vouched = state.with_store(store)
        if answer != "confirmed":
            vouched = _end_earlier(vouched, store, claim.attempt)
        yield Action(f"conductor vouches for attempt {claim.attempt}", PROGRESS, vouched)


def _end_earlier(state: State, store: Store, attempt: int) -> State:
    record = state.record
    source = record.moving.source_attempt if record is not None and record.moving is not None else 0
    for claim in store.claims:
        if claim.state != "unverified" and claim.attempt < attempt and claim.attempt != source:
            state = deliver(state, Message("terminate", claim.host, claim.attempt))
    return state


# -- agents -----------------------------------------------------------------------------------------------------------


def _agent(state: State, host: int) -> Iterator[Action]:
    agent = state.agents[host]
    if agent.life != ALIVE:
        return
    yield from _audits(state, host, agent)
    for attempt in agent.attempts:
        if attempt.stage in ("confirmed", "incoming") and not (
            agent.audit_due and holds("isolated agents start nothing")
        ):
            yield from _start(state, host, agent, attempt)
    if not agent.audit_due:
        yield from _saga_of_agent(state, host, agent)
    if state.left.crashes and agent.attempts:
        yield Action(f"agent {host} is killed", FAULT, with_agent(spend(state, "crashes"), host, agents.restart(agent)))


def _audits(state: State, host: int, agent: Agent) -> Iterator[Action]:
    store = state.store_of(host)
    claims = [claim for claim in store.claims if claim.host == host]
    is_watched = any(claim.is_orphan or claim.state == "unverified" for claim in claims)
    if not agent.audit_due and store.opened[host] == OPEN and not is_watched:
        return
    running = agents.running_claims(agent)
    reported = {claim.attempt for claim in running}
    silent = [claim for claim in claims if claim.state in ("confirmed", "unverified") and claim.attempt not in reported]
    is_over = bool(silent) and all(claim.is_orphan for claim in silent)
    store, answers = verbs.audit(store, host, running, grace_is_over=is_over)
    audited = with_agent(state.with_store(store), host, agents.after_audit(agent, running, answers))
    yield Action(f"agent {host} audits" + (" after the grace period" if is_over else ""), PROGRESS, audited)


def _start(state: State, host: int, agent: Agent, attempt: Attempt) -> Iterator[Action]:
    if attempt.stage == "incoming" and attempt.guest:
        return
    label = f"agent {host} starts attempt {attempt.number}"
    yield Action(label, PROGRESS, with_agent(state, host, agents.start(agent, attempt)))
    if state.left.failures and not attempt.has_disk:
        failed = with_agent(spend(state, "failures"), host, agents.start(agent, attempt, fails=True))
        yield Action(f"{label}, which fails", FAULT, failed)


def _saga_of_agent(state: State, host: int, agent: Agent) -> Iterator[Action]:
    for attempt in agent.attempts:
        if attempt.stage == "intent":
            yield from _confirm(state, host, agent, attempt)
        elif (
            attempt.stage == "gone"
            and attempt.claim_end
            and not attempt.is_settled
            and attempt.reported != agents.REPORTED
        ):
            yield from _end_claim(state, host, agent, attempt)
        is_surprise = state.record is not None and reports.is_surprise(state.record, attempt)
        reminds = is_surprise and holds("a guest that is off for a move is reported again")
        if attempt.reported == agents.REPORTED and reminds and attempt.stage in ("spawned", "stopped"):
            reminding = with_agent(state, host, agents.report_again(agent, attempt))
            yield Action(f"agent {host} reports attempt {attempt.number} once more", PROGRESS, reminding)
        report = agents.report_of(attempt, host)
        if report is not None:
            yield from _report(state, host, agent, attempt, report)
    for label, changed in agents.copy_events(agent, may_fail=bool(state.left.failures)):
        is_fault = label == "the copy fails"
        reduced = spend(state, "failures") if is_fault else state
        yield Action(
            f"agent {host}: {label}",
            FAULT if is_fault else PROGRESS,
            _with_copied_disks(with_agent(reduced, host, changed)),
        )


def _confirm(state: State, host: int, agent: Agent, attempt: Attempt) -> Iterator[Action]:
    store, answer = verbs.confirm(state.store_of(host), host, attempt.number)
    changed = state.with_store(store)
    label = f"agent {host} confirms attempt {attempt.number}: {answer}"
    confirmed = with_agent(changed, host, put(agent, agents.after_confirm(attempt, answer)))
    yield Action(label, PROGRESS, confirmed)
    yield from _repeated_later(confirmed, label, Message("confirm", host, attempt.number))
    if state.left.crashes:
        killed = with_agent(spend(changed, "crashes"), host, agents.restart(agent))
        yield Action(f"{label}, and is killed before it journals that", FAULT, killed)


def _end_claim(state: State, host: int, agent: Agent, attempt: Attempt) -> Iterator[Action]:
    store, answer = state.store_of(host), ""
    if attempt.claim_end == "abort":
        store, lookup = verbs.abort(store, attempt.number, host, None)
        answer = lookup.answer
    if attempt.claim_end == "release" or answer == "confirmed":
        store, answer = verbs.release(store, host, attempt.number)
    is_settled = answer not in ("closed", "prepared", "confirmed")
    ended = with_agent(state.with_store(store), host, put(agent, attempt._replace(is_settled=is_settled)))
    label = f"agent {host} ends the claim of attempt {attempt.number}: {answer}"
    yield Action(label, PROGRESS, ended)
    yield from _repeated_later(ended, label, Message("release", host, attempt.number))


def _repeated_later(state: State, label: str, call: Message) -> Iterator[Action]:
    if state.left.late and state.late is None:
        yield Action(f"{label}; it arrives again later", FAULT, spend(state, "late")._replace(late=call))


def _report(state: State, host: int, agent: Agent, attempt: Attempt, report: agents.Report) -> Iterator[Action]:
    recorded = state
    if state.record is not None:
        recorded = state._replace(record=reports.apply_report(state.record, report))
    label = f"agent {host} reports attempt {attempt.number}: {report.kind} {report.copy_phase}".rstrip()
    acknowledged = with_agent(recorded, host, put(agent, agents.after_report(attempt)))
    if reports.is_leaked(state.record, report):
        acknowledged = deliver(acknowledged, Message("terminate", host, attempt.number))
    yield Action(label, PROGRESS, acknowledged)
    if state.left.crashes and recorded != state:
        killed = with_agent(spend(recorded, "crashes"), host, agents.restart(agent))
        yield Action(f"{label}, and is killed before it gets the answer", FAULT, killed)


# -- faults -----------------------------------------------------------------------------------------------------------


def _late_message(state: State, site: saga.Site) -> Iterator[Action]:
    message = state.late
    if message is None:
        return
    arrived = state._replace(late=None)
    label = f"late: {message.kind} {message.action} of attempt {message.attempt} arrives at {message.host}"
    if message.kind in VERBS:
        yield Action(label, FAULT, arrived.with_store(_execute(state.store_of(message.host), message, site)))
    elif state.agents[message.host].life == ALIVE:
        yield Action(label, FAULT, deliver(arrived, message))


def _execute(store: Store, call: Message, site: saga.Site) -> Store:
    if call.kind == "begin_move":
        return verbs.begin_move(store, call.attempt, call.move)[0]
    if call.kind == "confirm":
        return verbs.confirm(store, call.host, call.attempt)[0]
    if call.kind == "release":
        return verbs.release(store, call.host, call.attempt)[0]
    candidates = site.boot if call.action == "select" else (1,)
    return verbs.prepare(
        store, call.attempt, candidates, 0, is_fresh=call.role == "fresh", move=call.move, source=call.source
    )[0]


def _requests(state: State, plan: requests.Plan) -> Iterator[Action]:
    for name in plan.requests:
        if name in state.requests and name != "boot":
            continue
        changed = requests.request(state, name)
        if changed is not None:
            request_names = tuple(sorted({*state.requests, name}))
            yield Action(f"user: {name}", REQUEST, changed._replace(requests=request_names))


def _outages(state: State, plan: requests.Plan) -> Iterator[Action]:
    """Yield outages, their ends and fences; no fence is forgotten, since two copies may run then (docs/failures.md)."""
    for host, agent in enumerate(state.agents):
        if agent.life == ALIVE:
            if state.left.outages:
                reduced = spend(state, "outages")
                yield Action(f"host {host} loses its power", FAULT, with_agent(reduced, host, agents.power_off(agent)))
                yield Action(f"agent {host} is silent", FAULT, with_agent(reduced, host, agents.silence(agent)))
            continue
        returned = agents.restart(agent) if agent.life == OFF else agents.resume(agent)
        yield Action(f"host {host} returns", PROGRESS, with_agent(state, host, returned))
        if plan.fences and state.store_of(host).opened[host] >= 0 and not isinstance(state.mark, Store | Snapshot):
            yield Action(f"operator fences host {host}", REQUEST, _fence(state, host, agent))


def _fence(state: State, host: int, agent: Agent) -> State:
    ended = [(host, attempt.number) for attempt in agent.attempts if attempt.is_live]
    fenced = state.with_store(verbs.fence(state.store_of(host), host))
    fenced = fenced._replace(fenced=tuple(sorted({*state.fenced, *ended})))
    return with_agent(fenced, host, agents.except_guests(agent)) if agent.life == SILENT else fenced


def _deadline(state: State) -> Iterator[Action]:
    """Let the deadline of a prepared claim pass, and the reaper end it.

    It passes in the end if the record no longer acts on the claim, and by a slow host or conductor before.
    """
    record = state.record
    for store in state.stores:
        claim, where = verbs.own_claim(store), _in_partition(state, store)
        is_left = record is None or record.step in ("done", "verify")
        if record is not None and record.step == "settle" and claim is not None:
            is_left = record.has_ended(claim.attempt)  # its host has reported that nothing runs
        if claim is not None and claim.state == "prepared" and (is_left or state.left.failures):
            overdue = verbs.with_claim(verbs.without(store, claim), claim._replace(state="overdue"))
            passed = (state if is_left else spend(state, "failures")).with_store(overdue)
            yield Action(f"the deadline of the claim passes{where}", PROGRESS if is_left else FAULT, passed)
        if claim is not None and claim.state == "overdue":
            reaped = state.with_store(verbs.expire(store))
            yield Action(f"the reaper ends overdue claims{where}", PROGRESS, reaped)


def _in_partition(state: State, store: Store) -> str:
    """Return what a label says of one of several partitions."""
    return "" if len(state.stores) == 1 else f" in partition {store.partition}"


def _loss(state: State) -> Iterator[Action]:
    """Yield the loss of what a store has got since it was marked."""
    mark = state.mark
    if isinstance(mark, Store) and mark != state.stores[mark.partition]:
        late = None if state.late is not None and _is_call_of(state, state.late, mark) else state.late
        lost_claims = state.with_store(verbs.forget(mark, state.stores[mark.partition]))._replace(mark=None, late=late)
        yield Action(loss_of(state), FAULT, lost_claims)
    if isinstance(mark, Snapshot) and (mark.record != state.record or mark.stores != state.stores):
        late = None if state.late is not None and state.late.kind in VERBS else state.late
        record, stores = mark.record._replace(is_certain=False), tuple(map(verbs.forget, mark.stores, state.stores))
        yield Action(loss_of(state), FAULT, state._replace(record=record, stores=stores, mark=None, late=late))
    if isinstance(mark, Record) and mark != state.record:
        lost_record = state._replace(record=mark._replace(is_certain=False), mark=None)
        yield Action(loss_of(state), FAULT, lost_record)


def loss_of(state: State) -> str:
    """Return the label of the loss of what is marked."""
    if isinstance(state.mark, Store):
        return CLAIMS_FORGOTTEN + _in_partition(state, state.mark).upper()
    return ALL_FORGOTTEN if isinstance(state.mark, Snapshot) else RECORDS_FORGOTTEN


def _is_call_of(state: State, late: Message, store: Store) -> bool:
    """Return whether what is late is a call of a store."""
    return late.kind in VERBS and state.store_of(late.host).partition == store.partition


def marked(before: State, after: State, stores: str) -> Iterator[State]:
    """Yield ``after`` with the contents that a loss of the last change would restore, of each of the ``stores``."""
    if not after.left.losses or after.mark is not None or before.mark is not None:
        return
    reduced = spend(after, "losses")
    is_fence = before.fenced != after.fenced
    if "store" in stores and not is_fence:
        for store, store_after in zip(before.stores, after.stores, strict=True):
            if store != store_after:
                yield reduced._replace(mark=store)
    has_changed = before.record != after.record or before.stores != after.stores
    if "all" in stores and before.record is not None and has_changed and not is_fence:
        yield reduced._replace(mark=Snapshot(before.record, before.stores))
    if "record" in stores and before.record is not None and before.record != after.record:
        yield reduced._replace(mark=before.record)
