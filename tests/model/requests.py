# SPDX-License-Identifier: Apache-2.0
"""What users and operators request, and what a plan of exploration is. See conductor/requests/moves.py, deletion.py."""

from collections.abc import Callable
from typing import NamedTuple

from tests.model import reports, verbs
from tests.model import transitions as to
from tests.model.saga import Site
from tests.model.state import ALIVE, FOREIGN, NOWHERE, OPEN, Agent, Attempt, Claim, Left, Migration, Record, State

AGAIN = " again"  # of a request about the second migration
MOVES = {"migrate": "cold", "resize": "resize", "live-migrate": "live"}
ENDED = (*verbs.ENDS, "unknown")


class Plan(NamedTuple):
    """What is explored: the requests, the faults, and where the instance is at the beginning."""

    name: str
    requests: tuple[str, ...]
    left: Left = Left()
    site: Site = Site()
    is_booted: bool = True
    fences: bool = False
    stores: str = "store record"  # those that may forget, each by itself; "all": they forget at once


def begin(plan: Plan) -> State:
    """Return the state in which the plan begins."""
    stores = plan.site.make_stores()
    agents = tuple(Agent() for _ in plan.site.partitions)
    if not plan.is_booted:
        return State(None, stores, agents, left=plan.left)
    alternates = tuple(host for host in range(1, len(agents)) if stores[0].opened[host] != FOREIGN)
    claim = Claim(1, 0, "confirmed", alternates=alternates)
    record = Record("ACTIVE", "done", 1, host=0, alternates=alternates)
    guest = Attempt(1, "spawned", reported=1, guest="running", has_disk=True)
    agents = (Agent(attempts=(guest,)), *agents[1:])
    return State(record, stores, agents, left=plan.left).with_store(verbs.with_claim(stores[0], claim))


def request(state: State, name: str) -> State | None:
    """Return the state after a request, None if it is refused or changes nothing."""
    if name == "boot":
        return _boot(state)
    if state.record is None:
        return None
    if name == "evacuate":
        return _evacuate(state, state.record)
    verb, is_second = name.removesuffix(AGAIN), name.endswith(AGAIN)
    if verb in MOVES:
        changed = _begin(state.record, MOVES[verb], 1 + is_second)
    else:
        last = state.record.migration
        is_of_other = is_second and (last is None or last.number == 1)
        changed = None if is_of_other else CHANGES[verb](state.record)
    return None if changed is None else state._replace(record=changed)


def _boot(state: State) -> State | None:
    """Boot, or repeat the boot where the conductors' store forgot it."""
    if state.record is not None:
        return None
    return state._replace(record=Record("SCHEDULING", "select", is_certain="boot" not in state.requests))


def _delete(record: Record) -> Record | None:
    if record.status in ("DELETING", "DELETED"):
        return None
    deleting = record._replace(status="DELETING")
    if record.moving is not None and record.step == "begin_move":
        return deleting
    if record.is_at_source or record.step == "end_move":
        return deleting._replace(step="end_source")
    return deleting._replace(step="terminate" if record.status in reports.ON_HOST else "abort")


def _begin(record: Record, kind: str, number: int) -> Record | None:
    rests = record.status == "ACTIVE" and record.step == "done"
    is_next = number == 1 if record.migration is None else record.migration.has_ended and number == 2
    return to.begin_move(record, kind, number) if rests and is_next else None


def _is_finished(record: Record) -> bool:
    return record.status == "VERIFY_RESIZE" and record.moving is not None and record.move.status == "finished"


def _confirm(record: Record) -> Record | None:
    return to.confirm_move(record) if _is_finished(record) else None


def _revert(record: Record) -> Record | None:
    return to.revert_move(record, by_request=True) if _is_finished(record) else None


def _abort(record: Record) -> Record | None:
    steps = ("begin_move", "destination", "prepare_copy", "copy")
    if not to.moves_live(record) or record.step not in steps or record.status != "MIGRATING":
        return None
    return to.with_migration(record, request="abort")


def _force(record: Record) -> Record | None:
    is_copying = to.moves_live(record) and record.step == "copy" and record.move.status == "migrating"
    return to.with_migration(record, request="force") if is_copying and not record.move.request else None


def _evacuate(state: State, record: Record) -> State | None:
    """Begin an evacuation of an instance whose host is fenced, or that has lost it."""
    if (
        record.migration is not None
        or record.host == NOWHERE
        or (record.status == "ERROR" and record.step not in ("done", "abort"))
    ):
        return None
    if record.status not in ("ACTIVE", "STOPPING", "SHUTOFF", "ERROR"):
        return None
    store, answer = state.stores[record.partition], ""
    if not record.has_ended(record.attempt):
        store, lookup = verbs.find(store, record.attempt)
        answer = lookup.answer
    lost_record = _lost(record, answer)
    if lost_record is None:
        return None
    is_over = record.has_ended(record.attempt) or answer in ENDED
    is_up = state.agents[record.host].life == ALIVE and (not is_over or store.opened[record.host] != OPEN)
    if is_up or not any(number == lost_record.attempt and outcome in to.RAN for number, outcome in lost_record.history):
        return None
    migration = Migration(
        *("evacuation", "preparing", lost_record.host, lost_record.attempt),
        was_stopped=lost_record.was_stopped,
        source_partition=lost_record.partition,
    )
    evacuating = lost_record._replace(
        step="evacuate",
        status="BUILDING",
        migration=migration,
        attempt=lost_record.next_attempt,
        host=NOWHERE,
        history=(),
        alternates=(),
    )
    return state.with_store(store)._replace(record=evacuating)


def _lost(record: Record, answer: str) -> Record | None:
    if record.status == "ERROR":
        if record.has_ended(record.attempt):
            return record
        return to.end_attempt(record, "lost") if answer in ENDED else None
    return to.lose(record) if answer == "fenced" else None


CHANGES: dict[str, Callable[[Record], Record | None]] = {
    "delete": _delete,
    "confirm": _confirm,
    "revert": _revert,
    "abort": _abort,
    "force": _force,
}
