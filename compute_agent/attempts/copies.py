# SPDX-License-Identifier: Apache-2.0
"""Copies of running guests from this host: messages start, force or abort each numbered copy once.

A copy changes only the source's journal and guest. The guest at the destination stays paused until the source has
reported its stop. A restart of the agent fails a copy in progress; the guest keeps running.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import os_resource_classes as resource_classes
from oslo_log import log

from compute_agent.attempt import Attempt, AttemptRef, CopyState, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from compute_agent.simulator.copy import CopyEvent
from rpcapi.objects.copy import ABORT, DONE, FAILED, POST_COPY, RUNNING, START
from rpcapi.resources.claims import ClaimRole, MoveEnd

LOG = log.getLogger(__name__)

MIB_PER_GIB = 1024
INTERRUPTED = "the agent of its source was restarted during the copy"


@dataclass(frozen=True, slots=True)
class GuestCopy:
    ref: AttemptRef
    migration: str
    number: int
    action: str
    destination: str = ""
    with_disk: bool = False
    post_copy: bool = False


def apply_copies(
    guest_manager: GuestManager, copies: Sequence[GuestCopy], request_id: str, owner: dict[str, str]
) -> None:
    """Apply each copy message. End the claim of a guest that the journal does not have."""
    for copy in copies:
        attempt = guest_manager.journal.get(copy.ref)
        if attempt is None:
            guest_manager.end_unknown(copy.ref, request_id, owner)
        elif attempt.live and copy.number >= attempt.transition:
            source = replace(attempt, transition=copy.number).to_end_of_move(MoveEnd(ClaimRole.SOURCE, copy.migration))
            _apply(guest_manager, source, copy)
        else:
            guest_manager.journal.report_again(attempt.ref)


def _apply(guest_manager: GuestManager, attempt: Attempt, copy: GuestCopy) -> None:
    last = attempt.copy
    if last is None or copy.number > last.number:
        _apply_first(guest_manager, attempt, copy)
    elif copy.number == last.number and last.phase == RUNNING and copy.action == ABORT:
        _fail(guest_manager, attempt, last, "aborted by request")
    elif copy.number == last.number and last.phase == RUNNING and copy.action != START:
        _force(guest_manager, attempt, last)
    else:
        guest_manager.journal.report_again(attempt.ref)


def _apply_first(guest_manager: GuestManager, attempt: Attempt, copy: GuestCopy) -> None:
    state = CopyState(copy.number, RUNNING, post_copy=copy.post_copy)
    if copy.action == ABORT:
        _fail(guest_manager, attempt, state, "aborted by request")
    elif copy.action == START and (
        attempt.stage is not Stage.SPAWNED or not guest_manager.hypervisor.is_on(attempt.ref)
    ):
        _fail(guest_manager, attempt, state, "its guest is not running")
    elif copy.action == START:
        _put(guest_manager, attempt, state)
        memory_mb, disk_mb = _sizes(attempt)
        guest_manager.hypervisor.begin_copy(attempt.ref, copy.number, memory_mb, disk_mb if copy.with_disk else 0)
        LOG.info("Copying instance %s (attempt %d) to %s", *attempt.ref, copy.destination)


def _force(guest_manager: GuestManager, attempt: Attempt, state: CopyState) -> None:
    copy = guest_manager.hypervisor.copies.get(attempt.ref)
    if copy is None:
        _fail(guest_manager, attempt, state, INTERRUPTED)
        return
    guest_manager.hypervisor.copies[attempt.ref] = copy.force(guest_manager.hypervisor.copy_clock())
    if state.post_copy:
        _stop_source(guest_manager, attempt, POST_COPY)
    else:
        guest_manager.journal.report_again(attempt.ref)


def advance(guest_manager: GuestManager, die: Callable[[], None]) -> int | None:
    """Advance all copies; return the ms until the next event, or None.

    Calls ``die`` and returns if a simulated fault ends the host.
    """
    waits_ms = []
    now_ms = guest_manager.hypervisor.copy_clock()
    for attempt in guest_manager.journal.copying():
        copy, state = guest_manager.hypervisor.copies.get(attempt.ref), attempt.copy
        if state is None:
            continue
        expected = Stage.STOPPED if state.phase == POST_COPY else Stage.SPAWNED
        event = CopyEvent.NONE if copy is None else copy.event(now_ms)
        if copy is None:
            _fail(guest_manager, attempt, state, INTERRUPTED)
        elif attempt.stage is not expected:
            _fail(guest_manager, attempt, state, "its guest was stopped during the copy")
        elif event is CopyEvent.DEATH:
            die()
            return None
        elif event is CopyEvent.FAILURE:
            _fail(guest_manager, attempt, state, "simulated copy failure")
        elif event is CopyEvent.COMPLETE:
            _stop_source(guest_manager, attempt, DONE)
        elif (wait_ms := copy.wait_ms(now_ms)) is not None:
            waits_ms.append(wait_ms)
    return min(waits_ms, default=None)


def _stop_source(guest_manager: GuestManager, attempt: Attempt, phase: str) -> None:
    """Pause the guest, then journal its stop: the destination runs the guest once the stop is reported."""
    guest_manager.hypervisor.pause(attempt.ref)
    if attempt.copy is not None:
        stopped = replace(attempt, stage=Stage.STOPPED, stopped_for=attempt.migration)
        _put(guest_manager, stopped, replace(attempt.copy, phase=phase))
    LOG.info("Stopped instance %s (attempt %d); its copy is %s", *attempt.ref, phase)


def _fail(guest_manager: GuestManager, attempt: Attempt, state: CopyState, reason: str) -> None:
    _put(guest_manager, attempt, replace(state, phase=FAILED, reason=reason))
    LOG.warning("Copy of instance %s (attempt %d) failed: %s", *attempt.ref, reason)


def _put(guest_manager: GuestManager, attempt: Attempt, state: CopyState) -> None:
    guest_manager.journal.put([replace(attempt, copy=state, at_ms=guest_manager.journal.clock(), reported=False)])
    if state.phase in (FAILED, DONE):
        guest_manager.hypervisor.copies.pop(attempt.ref, None)


def _sizes(attempt: Attempt) -> tuple[int, int]:
    amounts = {resource_classes.MEMORY_MB: 0, resource_classes.DISK_GB: 0}
    for allocation in attempt.allocations.values():
        for resource_class in amounts:
            amounts[resource_class] += allocation.get(resource_class, 0)
    return amounts[resource_classes.MEMORY_MB], MIB_PER_GIB * amounts[resource_classes.DISK_GB]
