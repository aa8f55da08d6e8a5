# SPDX-License-Identifier: Apache-2.0
"""State transitions of the record, as pure functions. See conductor/saga/transitions.py, moves.py and live_moves.py."""

from typing import Any

from tests.model.rules import holds
from tests.model.state import NOWHERE, Migration, Record

RAN = ("lost", "gone")  # outcomes of attempts that ran
BUILDING_STEPS = ("wait", "settle")
RETURNING_STEPS = ("stop_source", "stop_destination", "resume", "terminate")
POWERED_OFF = ("SHUTOFF", "STOPPING")
PREPARING = ("prepare_copy", "copy")


def with_migration(record: Record, **changes: Any) -> Record:
    assert record.migration is not None
    return record._replace(migration=record.migration._replace(**changes))


def finish(record: Record, status: str) -> Record:
    """Return the record at rest; an evacuation under way ends with that."""
    if record.evacuation is not None:
        ends = {"ERROR": "error", "DELETED": "cancelled"}
        record = with_migration(record, status=ends.get(status, "completed"))
    return record._replace(step="done", status=status, was_stopped=record.was_stopped and status == "ERROR")


def end_attempt(record: Record, outcome: str) -> Record:
    if record.has_ended(record.attempt):
        return record
    return record._replace(history=(*record.history, (record.attempt, outcome)))


def building_status(record: Record) -> str:
    if record.moving is None:
        return "BUILDING"
    return "MIGRATING" if record.move.kind == "live" else "RESIZE"


def fail(record: Record) -> Record:
    """Return the record without a claim of its own: in ERROR, or returning to the source of its move."""
    if record.moving is not None:
        return _move_back(record)
    if record.evacuation is not None:
        record = end_attempt(record, "unplaced")._replace(host=record.evacuation.source)
    return finish(record, "ERROR")


def lose(record: Record) -> Record:
    was_stopped = record.was_stopped or record.status in POWERED_OFF
    ended = end_attempt(record._replace(was_stopped=was_stopped), "lost")
    return fail(ended) if ended.moving is not None else ended._replace(step="abort", status="ERROR")


def finish_deletion(record: Record) -> Record:
    if record.moving is not None:
        return record._replace(step="end_source")
    return finish(record, "DELETED")


def _move_back(record: Record) -> Record:
    if record.move.status != "reverting":
        record = with_migration(record, status="reverting", has_reason=True)
    status = building_status(record) if record.move.has_reason else "REVERT_RESIZE"
    return record._replace(
        step="end_move",
        status=record.status if record.status == "DELETING" else status,
        attempt=record.next_attempt + 1,
        host=record.move.source,
        partition=record.move.source_partition,
        alternates=(),
        is_second_try=False,
    )


def assign_host(record: Record, attempt: int, host: int, alternates: tuple[int, ...], **changes: Any) -> Record:
    step = "cast"
    if record.moving is not None:
        step = "stop_source" if record.move.status == "preparing" and holds("the source stops first") else "cast"
        step = "prepare_copy" if record.move.kind == "live" else step
        record = with_migration(record, destination_attempt=attempt)
    elif record.evacuation is not None:
        record = with_migration(record, status="migrating", destination_attempt=attempt)
    return record._replace(
        step=step,
        status=building_status(record),
        attempt=attempt,
        host=host,
        alternates=alternates,
        is_second_try=False,
        **changes,
    )


# -- cold moves -------------------------------------------------------------------------------------------------------


def begin_move(record: Record, kind: str, number: int) -> Record:
    migration = Migration(
        *(kind, "preparing", record.host, record.attempt),
        source_partition=record.partition,
        number=number,
    )
    moving = record._replace(step="begin_move", migration=migration)
    return moving._replace(status=building_status(moving))


def select_next(record: Record) -> Record:
    return record._replace(
        step="destination",
        attempt=record.next_attempt,
        host=NOWHERE,
        alternates=(),
        history=(),
        is_second_try=False,
    )


def build_next(record: Record) -> Record:
    return with_migration(record._replace(step="cast"), status="migrating")


def finish_move(record: Record, *, is_stopped: bool) -> Record:
    moved = record._replace(step="verify", status="VERIFY_RESIZE")
    return with_migration(moved, status="finished", was_stopped=is_stopped)


def confirm_move(record: Record) -> Record:
    return with_migration(record._replace(step="end_source"), status="confirming", has_reason=False)


def revert_move(record: Record, *, by_request: bool) -> Record:
    status = "REVERT_RESIZE" if by_request else "RESIZE"
    is_kept = holds("the destination keeps the guest until the source runs it")
    reverting = with_numbered_step(record, "stop_source") if is_kept else record._replace(step="terminate")
    reverting = reverting._replace(status=status)
    return with_migration(reverting, status="reverting", has_reason=not by_request)


def start_source(record: Record) -> Record:
    return with_numbered_step(record, "resume")


def with_numbered_step(record: Record, step: str) -> Record:
    return record._replace(step=step, last_attempt=record.next_attempt)


def is_returning(record: Record) -> bool:
    """Return whether the instance returns to its source, and its destination keeps the guest."""
    is_reverted = record.move.status == "reverting" and record.move.kind != "live" and record.step in RETURNING_STEPS
    return is_reverted and not record.is_at_source


def source_ended_during_return(record: Record) -> bool:
    """Return whether the source ended before the instance returned: the guest continues at the destination."""
    return record.move.status == "confirming" and record.step == "resume"


def end_source(record: Record) -> Record:
    """Return the record after the source of its move has ended, as requested or by itself."""
    if record.status == "DELETING":
        return _end_source_of_deleted(record)
    if record.move.status in ("finished", "confirming"):
        return record if source_ended_during_return(record) else finish_confirmed(record)
    if is_returning(record):
        staying = with_migration(record, status="confirming", has_reason=True)
        return with_numbered_step(staying, "resume")
    return _fail_without_source(record)


def _fail_without_source(record: Record) -> Record:
    failed = _end_migration(record, "error", has_reason=True)
    if record.move.status == "migrating" and record.step in BUILDING_STEPS:
        return failed._replace(status="BUILDING")
    if record.move.status == "reverting" and record.step not in ("end_move", "resume"):
        return failed._replace(status="ERROR")
    return failed._replace(step="abort", status="ERROR")


def lose_claim(record: Record, outcome: str) -> Record:
    ended = end_attempt(record, outcome)
    if record.status == "DELETING":
        return ended._replace(step="abort")
    return lose(_end_migration(ended, "error", has_reason=True))


def settle_without_move(record: Record) -> Record:
    if record.status == "DELETING":
        return _end_migration(record, "cancelled", has_reason=True)._replace(step="abort")
    return _end_migration(record, "error", has_reason=True)._replace(step="settle", status="BUILDING")


def settle_after_later_message(record: Record, number: int) -> Record:
    """Return the record whose host followed a message with ``number``, which this store forgot: it is not ended."""
    history = tuple(item for item in record.history if item[0] != record.attempt)
    later = record._replace(history=history, last_attempt=number)
    return later._replace(step="settle", status="BUILDING") if later.moving is None else settle_without_move(later)


def settle_returned(record: Record) -> Record:
    if not holds("a move that does not begin leaves the instance where it is"):
        return settle_without_move(record)
    returned = _at_source(record)._replace(host=record.move.source, partition=record.move.source_partition)
    return settle_without_move(returned)


def resume(record: Record) -> Record:
    return _at_source(record)._replace(step="resume")


def _at_source(record: Record) -> Record:
    return record._replace(attempt=record.move.source_attempt, last_attempt=record.transition_number)


def finish_back(record: Record) -> Record:
    status = "error" if record.move.has_reason else "reverted"
    status = "cancelled" if record.move.request == "abort" else status
    returned = "SHUTOFF" if record.move.was_stopped else "ACTIVE"
    return finish(_end_migration(record, status, has_reason=record.move.has_reason), returned)


def finish_confirmed(record: Record) -> Record:
    move = record.move
    ended = _end_migration(record, "error" if move.has_reason else "confirmed", has_reason=move.has_reason)
    return finish(ended, "SHUTOFF" if move.was_stopped else "ACTIVE")


def _end_source_of_deleted(record: Record) -> Record:
    ended = _end_migration(record, "cancelled", has_reason=True)
    return ended._replace(step="abort") if record.step in ("begin_move", "end_source") else ended


def _end_migration(record: Record, status: str, *, has_reason: bool) -> Record:
    return with_migration(record, status=status, has_reason=has_reason)


def return_to_lost_source(record: Record) -> Record:
    """Return the record without a claim on the host from which it moved, if that has ended during the move."""
    migration = record.migration
    has_run = any(number == record.attempt and outcome in RAN for number, outcome in record.history)
    if migration is None or migration.kind == "evacuation" or migration.status != "error" or has_run:
        return record
    return end_attempt(record, "unplaced")._replace(
        host=migration.source, partition=migration.source_partition, was_stopped=migration.was_stopped
    )


# -- live moves -------------------------------------------------------------------------------------------------------


def is_aborted(record: Record) -> bool:
    return moves_live(record) and record.move.request == "abort"


def moves_live(record: Record) -> bool:
    return record.moving is not None and record.move.kind == "live"


def give_up(record: Record, *, is_final: bool = False) -> Record:
    ended = end_attempt(record, "failed")
    if is_final or is_aborted(record):
        ended = with_migration(ended, status="reverting", has_reason=True)
    return ended._replace(step="terminate")


def select_again(record: Record) -> Record:
    if record.move.status == "reverting" or is_aborted(record):
        return fail(record)
    again = with_migration(record, status="preparing", is_checked=False, request="")
    return again._replace(step="destination", attempt=record.next_attempt, host=NOWHERE, alternates=())


def end_live_source(record: Record) -> Record | None:
    """Return the record after the source of a live migration has ended; None where that changes nothing yet."""
    is_deleting = record.status == "DELETING"
    if record.step == "end_source" and not is_deleting:
        return _finish_live(record)
    if record.step == "switch":
        if record.move.is_resumed and not record.move.phase:
            return _finish_live(record)
        return None if record.move.phase == "done" else lose_guest(record)
    is_prepared = record.step in (*PREPARING, "terminate") and not is_deleting
    ended = end_source(record)
    return end_attempt(ended, "failed")._replace(step="terminate") if is_prepared else ended


def switch_over(record: Record, **changes: Any) -> Record:
    """Return the record whose destination is to run the guest; older messages do not end it there any more."""
    return with_migration(with_numbered_step(record, "switch"), status="migrating", **changes)


def lose_guest(record: Record) -> Record:
    """Return the record of a guest whose memory is lost; a destination that may have to run it does so first."""
    return end_when_complete(with_migration(record, phase="failed", has_reason=True))


def lose_destination(record: Record, outcome: str) -> Record:
    ended = end_attempt(record, outcome)
    if record.step in PREPARING:
        return select_again(ended)
    if outcome != "failed" or record.move.is_resumed or record.move.phase == "failed":
        ended = with_migration(ended, phase="")
    return fail(ended)


def keeps_memory(record: Record) -> bool:
    """Return whether the guest of an instance that returns can continue at its source from the memory there."""
    return moves_live(record) and record.move.phase in ("done", "post-copy")


def end_when_complete(record: Record) -> Record:
    is_complete = record.move.is_resumed and record.move.phase in ("done", "failed")
    return record._replace(step="end_source") if is_complete else record


def _finish_live(record: Record) -> Record:
    if not record.move.has_reason:
        return finish(with_migration(record, status="completed"), "ACTIVE")
    return finish(with_migration(record, status="error", has_reason=True), "ERROR")
