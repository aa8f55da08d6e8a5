# SPDX-License-Identifier: Apache-2.0
"""What reports of agents, and comparisons with claims, do to the record. See conductor/reports."""

from tests.model import transitions as to
from tests.model.agents import Report
from tests.model.rules import holds
from tests.model.state import NOWHERE, Attempt, Record
from tests.model.verbs import ENDS, Found

HAS_GUEST = ("active", "stopped")
RUNNING_FROM = ("BUILDING", "ERROR", "STARTING")
STOPPED_FROM = ("BUILDING", "ERROR", "ACTIVE", "STOPPING")
ON_HOST = ("ACTIVE", "STOPPING", "SHUTOFF", "VERIFY_RESIZE")
ENDED_BY_REQUEST = ("gone", "failed")
ENDING = ("terminate", "settle")
BUILT = ("cast", "wait", "alternate")
ASKING = ("power", "resume", "stop_destination")


def is_of_source(record: Record, report: Report) -> bool:
    migration = record.migration
    if migration is None or migration.kind == "evacuation":
        return False
    return report.attempt == migration.source_attempt != record.attempt and migration.source == report.host


def is_leaked(record: Record | None, report: Report) -> bool:
    """Return whether the host has a guest of a deleted instance or of an ended move: it gets a terminate message."""
    if report.kind not in HAS_GUEST or record is None:
        return False
    is_deleted = record.status in ("DELETING", "DELETED")
    if is_of_source(record, report):
        rests_elsewhere = record.status in ON_HOST and record.step == "done"
        is_over = is_deleted or rests_elsewhere or not holds("only an instance at rest leaves a leaked source")
        return record.moving is None and is_over
    return is_deleted


def apply_report(record: Record, report: Report) -> Record:
    """Return the record after a report."""
    if is_of_source(record, report):
        return _apply_source(record, report) or record
    if report.attempt > record.attempt:
        return record._replace(step="settle") if _is_forgotten(record, report) else record
    if report.attempt < record.attempt or record.host != report.host or _is_before_return(record, report):
        return record
    if _is_ended_by_mistake(record, report) or follows_later_move(record, report):
        return to.settle_after_later_message(record, report.transition)
    has_ended = record.has_ended(report.attempt) and not (to.moves_live(record) and record.step == "terminate")
    settles = record.step == "settle" and report.kind in HAS_GUEST
    if has_ended and record.step == "terminate" and report.kind in ENDED_BY_REQUEST:
        return record._replace(step="abort")
    return record if has_ended or settles else _apply_current(record, report)


def _is_ended_by_mistake(record: Record, report: Report) -> bool:
    """Return whether a guest is to be ended that has followed a later message, which this store has lost."""
    is_ending = record.step in ENDING and record.status != "DELETING"
    return is_ending and report.kind in HAS_GUEST and report.transition > record.transition_number


def _apply_current(record: Record, report: Report) -> Record:
    """Return the record after a report of its current attempt."""
    if record.status == "DELETING" and record.step != "resume":
        if report.kind not in ENDED_BY_REQUEST:
            return record
        if record.step == "end_source" and record.is_at_source:
            return to.end_source(record)
        if record.step != "terminate":
            return record
        return to.finish_deletion(record) if record.is_certain else record._replace(step="abort")
    if record.step in ASKING and report.kind in HAS_GUEST:
        record = record._replace(last_attempt=max(record.last_attempt, report.transition))
    return _apply_alone(record, report) if record.moving is None else _apply_moving(record, report)


def _is_forgotten(record: Record, report: Report) -> bool:
    is_built = record.status == "BUILDING" and record.step != "settle"
    is_at_destination = record.status == "RESIZE" and record.step in BUILT
    return report.kind == "active" and (is_built or is_at_destination)


def _is_before_return(record: Record, report: Report) -> bool:
    if report.held_for and record.moving is None:  # of a move that is over, or that this store forgot
        return False
    is_built = record.status == "BUILDING" or (record.status == "RESIZE" and record.step in BUILT)
    has_returned = record.attempt < record.last_attempt and not is_built
    return has_returned and report.kind in HAS_GUEST and report.transition < record.transition_number


def _apply_alone(record: Record, report: Report) -> Record:
    if report.kind in HAS_GUEST:
        return _start_again(record, report) if report.held_for else _apply_state(record, report)
    if report.kind == "incoming":
        is_unknown = record.status in ("BUILDING", "ERROR") and record.step in (*BUILT, "done")
        return to.end_attempt(record, "failed")._replace(step="terminate", status="ERROR") if is_unknown else record
    ended = to.end_attempt(record, report.kind)
    if record.status == "BUILDING":
        is_settling = record.step == "settle" and holds("step SETTLE selects no alternate")
        return ended if is_settling else ended._replace(step="alternate")
    if record.status in ON_HOST:
        return to.lose(ended)
    return to.fail(ended) if record.status == "ERROR" else record


def _apply_state(record: Record, report: Report) -> Record:
    """Return the record in the state of a guest that its host has."""
    status, expected = ("ACTIVE", RUNNING_FROM) if report.kind == "active" else ("SHUTOFF", STOPPED_FROM)
    if report.transition > record.transition_number:
        followed = record._replace(last_attempt=report.transition)
        if status == "ACTIVE" and record.status == "SHUTOFF":
            return to.finish(followed, status)
        if record.status not in expected:
            return record
        record = followed if record.step != "terminate" else record
    if record.status not in expected or record.step == "terminate":
        return record
    if status == "ACTIVE" and record.was_stopped:
        return to.finish(record, status)._replace(step="power", status="STOPPING", was_stopped=True)
    return to.finish(record, status)


def expects_stopped(record: Record, attempt: int) -> bool:
    """Return whether a guest that was stopped for a move is off as the record says."""
    if record.moving is None:
        return False
    return attempt == record.move.source_attempt or record.move.status in ("reverting", "confirming")


def is_surprise(record: Record, attempt: Attempt) -> bool:
    """Return whether the reminder of a guest may change the record or end the guest; hosts remind of all guests."""
    follows_lost = record.step == "done" and attempt.transition > record.transition_number
    is_stopped = attempt.held_for and not expects_stopped(record, attempt.number)
    return record.status == "DELETED" or follows_lost or is_stopped


def _start_again(record: Record, report: Report) -> Record:
    """Return the record of a guest that was stopped for a move which is over, or which this store forgot."""
    rests = record.status in (*ON_HOST, "STARTING", "ERROR") and record.step in ("done", "power")
    is_built = record.status == "BUILDING" and record.step in BUILT
    if record.step == "abort":
        return record
    return settle_claim(record) if rests or is_built else _apply_state(record, report)


# -- moves ------------------------------------------------------------------------------------------------------------


def _apply_source(record: Record, report: Report) -> Record | None:
    if record.moving is None or report.kind == "incoming":  # late: it has run since
        return None
    if follows_later_move(record, report):
        return to.settle_returned(record._replace(last_attempt=report.transition))
    has_guest = report.kind in HAS_GUEST
    if has_guest and report.transition > record.transition_number and record.step in FOLLOWING:
        return _follow_lost_move(record._replace(last_attempt=report.transition), report)
    if record.move.kind == "live":
        return _apply_live_source(record, report)
    return _follow_source(record, report) if has_guest else to.end_source(record)


def follows_later_move(record: Record, report: Report) -> bool:
    """Return whether the host stopped the guest for a later move, which the record has lost."""
    recorded = record.moving
    if recorded is None or record.status == "DELETING" or report.held_for in (0, recorded.number):
        return False
    follows = report.kind == "stopped" and report.transition >= record.transition_number
    return follows and holds("a report of a later move settles the record")


FOLLOWING = ("stop_source", "copy", "end_source")


def _follow_lost_move(record: Record, report: Report) -> Record:
    """Return the record whose source has followed a later message, which this store forgot."""
    if record.step == "end_source":
        return record if report.kind == "stopped" or record.status == "DELETING" else to.settle_returned(record)
    if record.move.kind != "live":
        return to.revert_move(record, by_request=False)
    return to.give_up(record, is_final=True)


def _follow_source(record: Record, report: Report) -> Record | None:
    """Return the record after the source of a cold move followed its last request, None if it has not."""
    if report.transition < record.transition_number and holds("an old stop is no answer"):
        return None
    if record.step == "stop_source" and report.kind == "stopped":
        is_reverted = record.move.status == "reverting"
        return record._replace(step="stop_destination") if is_reverted else to.build_next(record)
    return record._replace(step="terminate") if _is_resumed(record, report) else None


def _is_resumed(record: Record, report: Report) -> bool:
    """Return whether the guest continues as requested."""
    is_requested = record.step == "resume" and record.status != "DELETING"
    return is_requested and report.kind == ("stopped" if record.move.was_stopped else "active")


def _apply_live_source(record: Record, report: Report) -> Record | None:
    is_new_copy = record.step == "copy" and report.copy_number == record.move.destination_attempt
    if is_new_copy and report.copy_phase == "done" and record.status != "DELETING":
        return to.switch_over(record, phase="done")
    if report.kind not in HAS_GUEST:
        return to.end_live_source(record)
    if record.status == "DELETING" or report.copy_number != record.move.destination_attempt:
        return None
    return _apply_copy(record, report) if record.step == "copy" else _apply_rest_of_copy(record, report)


def _apply_rest_of_copy(record: Record, report: Report) -> Record | None:
    if record.step == "switch" and report.copy_phase == "failed":
        return to.lose_guest(record)
    if record.step == "switch" and report.copy_phase == "done" and record.move.phase != "done":
        return to.end_when_complete(to.with_migration(record, phase="done"))
    return None


def _apply_copy(record: Record, report: Report) -> Record | None:
    if report.copy_phase == "running" and record.move.status == "preparing":
        return to.with_migration(record, status="migrating")
    if report.copy_phase == "failed":
        return to.give_up(record, is_final=report.kind == "stopped")
    return to.switch_over(record, phase="post-copy") if report.copy_phase == "post-copy" else None


def _apply_moving(record: Record, report: Report) -> Record:
    """Return the record after a report about its current claim: at the destination, or on the source."""
    has_guest = report.kind in HAS_GUEST
    if report.kind == "incoming" and (record.is_at_source or record.move.kind != "live"):
        return record
    if record.is_at_source or to.source_ended_during_return(record):
        if not has_guest:
            return to.lose_claim(record, report.kind)
        if not _is_resumed(record, report):
            return record
        return to.finish_confirmed(record) if to.source_ended_during_return(record) else to.finish_back(record)
    if record.move.kind == "live":
        return _apply_live_destination(record, report)
    return _apply_destination(record, report)


def _apply_destination(record: Record, report: Report) -> Record:
    is_built = record.status == "RESIZE" and record.step in BUILT
    if record.step == "stop_destination" and report.kind == "stopped":
        return to.start_source(record)
    if report.held_for and (is_built or not expects_stopped(record, report.attempt)):  # this store forgot its return
        numbered = record._replace(last_attempt=max(record.last_attempt, report.transition))
        return to.revert_move(numbered, by_request=record.status == "VERIFY_RESIZE")
    if report.kind in HAS_GUEST:
        return to.finish_move(record, is_stopped=report.kind == "stopped") if is_built else record
    ended = to.end_attempt(record, report.kind)
    if is_built:
        return ended._replace(step="alternate")
    if to.is_returning(record) or (record.step == "terminate" and report.kind in ENDED_BY_REQUEST):
        return to.fail(ended)
    return to.fail(ended) if record.status == "VERIFY_RESIZE" else record


def _apply_live_destination(record: Record, report: Report) -> Record:
    if report.kind == "active" and record.step in to.PREPARING:
        return to.with_migration(record._replace(step="switch"), status="migrating", phase="", is_resumed=True)
    if report.kind == "incoming":
        return record._replace(step="copy") if record.step == "prepare_copy" else record
    if report.kind in HAS_GUEST:
        is_new = report.kind == "active" and record.step == "switch" and not record.move.is_resumed
        return to.end_when_complete(to.with_migration(record, is_resumed=True)) if is_new else record
    return _end_live_destination(record, report)


def _end_live_destination(record: Record, report: Report) -> Record:
    if record.step in ("prepare_copy", "copy", "switch"):
        return to.lose_destination(record, report.kind)
    if record.step == "terminate":
        return to.select_again(to.end_attempt(record, "failed")) if report.kind in ENDED_BY_REQUEST else record
    if record.step == "end_source" and not record.has_ended(record.attempt):
        return to.lose_destination(record, report.kind)
    return record


# -- comparison with the claims ---------------------------------------------------------------------------------------


def is_settled(record: Record) -> bool:
    may_run = not record.is_certain or record.is_second_try
    is_doubtful = record.status == "ERROR" and may_run and record.step == "done"
    return is_doubtful or (record.status in ON_HOST and record.step in ("done", "verify"))


def compare_own(record: Record, lookup: Found, *, is_moves_known: bool) -> Record | None:
    """Return the record as the answer about its claim changes it, or None."""
    is_elsewhere = lookup.answer == "confirmed" and (lookup.host != record.host or not is_moves_known)
    if lookup.answer == "conflict" or is_elsewhere:
        return settle_claim(record)
    if record.status == "ERROR":
        return _revive(record) if lookup.answer == "confirmed" else None
    if lookup.answer not in ENDS and lookup.answer != "unknown":
        return None
    return to.lose(record)


def settle_claim(record: Record) -> Record:
    """Return the record that follows its claims next."""
    was_stopped = record.was_stopped or record.status in to.POWERED_OFF
    return record._replace(step="settle", status=to.building_status(record), was_stopped=was_stopped)


def _revive(record: Record) -> Record | None:
    """Return the record whose build is sent again, None if its host reported the end of the attempt."""
    history = tuple(item for item in record.history if item != (record.attempt, "lost"))
    revived = record._replace(history=history, was_stopped=False)
    if revived.has_ended(record.attempt):
        return None
    return revived._replace(step="cast", status="BUILDING", is_second_try=False)


def knows_move(record: Record, move: int) -> bool:
    """Return whether the record knows the move of which the claim is an end, if it is one."""
    if not move or (record.moving is not None and record.moving.number == move):
        return True
    existing = record.migration
    return existing is not None and existing.number == move and existing.source_attempt != record.attempt


def compare_source(record: Record, lookup: Found) -> Record | None:
    answer = lookup.end or lookup.answer
    if answer not in ENDS and answer != "unknown":
        return None
    return to.end_source(record)


def is_named(record: Record | None, attempt: int, host: int) -> bool:
    """Return whether the record vouches for an attempt on a host."""
    if record is None or record.status == "DELETED":
        return False
    if record.moving is not None and record.move.source_attempt == attempt:
        return record.move.source == host
    return record.attempt == attempt and not record.has_ended(attempt) and record.host == host != NOWHERE
