# SPDX-License-Identifier: Apache-2.0
"""Guests and confirmed attempts of a service host, for an operator's audit."""

from collections.abc import Sequence

from compute_agent.attempt import Attempt, AttemptRef, Stage
from compute_agent.attempts.guest_allocations import GuestManager
from rpcapi import objects
from rpcapi.resources.statuses import GuestState

MAX_PAGE = 1000
_STAGES = frozenset({Stage.CONFIRMED, Stage.INCOMING, Stage.SPAWNED, Stage.STOPPED})


def list_guests(guest_manager: GuestManager, marker: str | None, limit: int) -> objects.GuestPage:
    """Return the page of guests after ``marker``; callable from any thread."""
    nodes = {running.ref: running.name for running in guest_manager.hypervisor.list()}
    attempts = {attempt.ref: attempt for attempt in guest_manager.journal.all() if attempt.stage in _STAGES}
    refs = [ref for ref in nodes.keys() | attempts.keys() if marker is None or _marker(ref) > marker]
    page = sorted(refs, key=_marker)[: min(limit, MAX_PAGE)]
    return objects.GuestPage.of(
        uuids=[ref.uuid for ref in page],
        attempts=[ref.attempt for ref in page],
        names=[nodes.get(ref) or attempts[ref].name for ref in page],
        states=[_state(attempts.get(ref), ref in nodes).value for ref in page],
        marker=_marker(page[-1]) if len(page) < len(refs) else None,
    )


def list_owners(guest_manager: GuestManager, uuids: Sequence[str]) -> objects.GuestOwners:
    """Return the live attempts of these instances; callable from any thread."""
    instances = frozenset(uuids)
    guests = {running.ref for running in guest_manager.hypervisor.list()}
    attempts = [attempt for attempt in guest_manager.journal.all() if attempt.live and attempt.uuid in instances]
    return objects.GuestOwners.of(
        uuids=[attempt.uuid for attempt in attempts],
        attempts=[attempt.attempt for attempt in attempts],
        names=[attempt.name for attempt in attempts],
        owners=[dict(attempt.owner) for attempt in attempts],
        states=[_state(attempt, attempt.ref in guests).value for attempt in attempts],
        transitions=[attempt.transition for attempt in attempts],
        migrations=[attempt.stopped_for or None for attempt in attempts],
    )


def _marker(ref: AttemptRef) -> str:
    return f"{ref.uuid}@{ref.attempt:020}"


def _state(attempt: Attempt | None, has_guest: bool) -> GuestState:
    if attempt is None:
        return GuestState.UNJOURNALLED
    if attempt.is_incoming:
        return GuestState.INCOMING
    if not has_guest or attempt.stage is Stage.CONFIRMED:
        return GuestState.CONFIRMED
    return GuestState.STOPPED if attempt.stage is Stage.STOPPED else GuestState.RUNNING
