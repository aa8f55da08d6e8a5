# SPDX-License-Identifier: Apache-2.0
"""Promises to callers against the final state: nothing acknowledged is lost, nothing stops unasked."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from devstack.lab.chaos.changes import BOOTED, ENDS_GUEST, MOVES, OFFLOADED, VERIFY, expected_statuses
from devstack.lab.chaos.final_state import FinalState, GuestFile, InstanceState, StoredClaim
from devstack.lab.chaos.history import CallHistory, CallOutcome
from devstack.lab.chaos.violations import Violation, ViolationKind

ENDED_STATUSES = ("DELETED",)
ENDED_MIGRATIONS = ("confirmed", "reverted", "error", "completed", "cancelled")
# {status: whether the guest is powered off}
IS_OFF: Mapping[str, bool] = {"ACTIVE": False, "SHUTOFF": True, "SHELVED": True}


@dataclass(frozen=True, slots=True)
class Promises:
    """Instances by their callers' requests: acknowledged (``booted``, ``deleted``), or sent (``maybe_...``)."""

    booted: frozenset[str]
    deleted: frozenset[str]
    maybe_deleted: frozenset[str]
    maybe_ended: frozenset[str]  # delete sent, boot forgotten, or a change that ends the guest on its host
    statuses: Mapping[str, frozenset[str]]  # possible statuses at rest, besides ERROR

    @classmethod
    def of(cls, history: CallHistory) -> "Promises":
        acknowledged, sent = (CallOutcome.ACKNOWLEDGED,), (CallOutcome.ACKNOWLEDGED, CallOutcome.UNKNOWN)
        maybe_deleted = frozenset(history.uuids("delete", sent))
        forgotten = {
            uuid for item in history.operations if item.was_forgotten and item.verb == "boot" for uuid in item.uuids
        }
        return cls(
            frozenset(history.uuids("boot", acknowledged)),
            frozenset(history.uuids("delete", acknowledged)),
            maybe_deleted,
            maybe_deleted.union(forgotten, *(history.uuids(v, sent) for v in ENDS_GUEST)),
            expected_statuses(history.operations),
        )


def check_promises(history: CallHistory, state: FinalState) -> Iterator[Violation]:
    promises = Promises.of(history)
    guests, claims = state.guests_by_instance(), state.claims_by_instance()
    for uuid in sorted(promises.booted | promises.deleted | state.instances.keys()):
        copies, live = guests.get(uuid, []), claims.get(uuid, [])
        if uuid in promises.deleted:
            yield from _check_deleted(uuid, state.instances.get(uuid), copies, live)
        else:
            yield from _check_booted(uuid, state.instances.get(uuid), copies, live, promises)
    yield from _check_moved(history, state, promises, guests, claims)
    yield from _stopped(history, state, promises)
    yield from _check_double_guests(history)
    yield from _seen_oversold(history)
    yield from _check_crowded_groups(history, state)


def check_leases(history: CallHistory, state: FinalState, lease_seconds: float) -> Iterator[Violation]:
    """Yield claims that were seen prepared more than ``lease_seconds`` ago, whatever the store's time."""
    prepared = {(item.consumer, item.attempt): item.at for item in history.claims if item.state == "prepared"}
    for partition in state.partitions:
        for claim in partition.claims:
            age = state.read_at - prepared.get((claim.consumer, claim.attempt), state.read_at)
            if claim.state == "prepared" and age > lease_seconds:
                yield Violation(
                    ViolationKind.LEAKED, claim.consumer, f"attempt {claim.attempt} is prepared for {age:.1f} s"
                )


def _check_booted(
    uuid: str,
    instance: InstanceState | None,
    guests: list[GuestFile],
    claims: list[StoredClaim],
    promises: Promises,
) -> Iterator[Violation]:
    may_be_deleted = uuid in promises.maybe_deleted
    if instance is None or instance.status in ENDED_STATUSES:
        what = "has no record" if instance is None else f"is {instance.status}"
        if not may_be_deleted:
            yield Violation(ViolationKind.LOST, uuid, f"its boot was acknowledged, no delete was sent, and it {what}")
        elif guests or claims:
            yield Violation(ViolationKind.DIVERGED, uuid, f"{what}, but {_remains(guests, claims)}")
    elif instance.status in (*IS_OFF, *OFFLOADED, *VERIFY):
        yield from _check_at_rest(instance, guests, claims, promises.statuses.get(uuid, BOOTED))
    elif instance.status == "ERROR":
        if not instance.reason:
            yield Violation(ViolationKind.UNEXPLAINED, uuid, f"is in ERROR, attempt {instance.attempt}, no reason")
        if guests or claims:
            remains = _remains(guests, claims)
            yield Violation(ViolationKind.DIVERGED, uuid, f"is in ERROR ({instance.reason}), but {remains}")
    else:
        yield Violation(
            ViolationKind.UNSETTLED, uuid, f"is {instance.status}, attempt {instance.attempt} on {instance.host}"
        )


def _check_at_rest(
    instance: InstanceState, guests: list[GuestFile], claims: list[StoredClaim], expected: frozenset[str]
) -> Iterator[Violation]:
    uuid, status = instance.uuid, instance.status
    if status not in expected and not (status in OFFLOADED and "SHELVED" in expected):
        promised = " or ".join(sorted(expected))
        yield Violation(ViolationKind.LOST, uuid, f"was to be {promised} or in ERROR, and it is {status}")
    if status in OFFLOADED:
        if guests or claims:
            yield Violation(ViolationKind.DIVERGED, uuid, f"is {status}, but {_remains(guests, claims)}")
        return
    place = f"is {status} as attempt {instance.attempt} on {instance.host}"
    copies = [guest for guest in guests if (guest.attempt, guest.name) == (instance.attempt, instance.host)]
    if not copies:
        yield Violation(ViolationKind.LOST, uuid, f"{place}, but {_remains(guests, claims)}")
    elif status in IS_OFF and any(guest.is_off != IS_OFF[status] for guest in copies):
        power = "running" if IS_OFF[status] else "powered off"
        yield Violation(ViolationKind.DIVERGED, uuid, f"{place}, but its guest is {power}")


def _check_moved(
    history: CallHistory,
    state: FinalState,
    promises: Promises,
    guests: Mapping[str, list[GuestFile]],
    claims: Mapping[str, list[StoredClaim]],
) -> Iterator[Violation]:
    """Yield acknowledged moves that did not end, and guests or claims that ended moves left at their sources."""
    acknowledged = history.migrations(MOVES, (CallOutcome.ACKNOWLEDGED,))
    for uuid, instance in sorted(history.migrations().items()):
        migration, record = state.migrations.get(uuid), state.instances.get(instance)
        sources = [claim for claim in claims.get(instance, ()) if claim.source_of == uuid]
        places = [(claim.attempt, claim.host) for claim in sources]
        copies = [guest for guest in guests.get(instance, ()) if (guest.attempt, guest.name) in places]
        has_finished = migration is not None and migration.status == "finished"
        if has_finished and record is not None and record.status in VERIFY:
            if [guest.is_running for guest in copies] != [False]:
                what = f"waits to be confirmed, but at its source {_remains(copies, sources)}"
                yield Violation(ViolationKind.DIVERGED, uuid, what)
        elif migration is None:
            if uuid in acknowledged and instance not in promises.maybe_deleted:
                yield Violation(ViolationKind.LOST, uuid, f"the move of {instance} was acknowledged, and has no record")
        elif migration.status not in ENDED_MIGRATIONS:
            yield Violation(ViolationKind.UNSETTLED, uuid, f"the move of {instance} is {migration.status}")
        elif sources:
            remains = _remains(copies, sources)
            yield Violation(ViolationKind.DIVERGED, uuid, f"is {migration.status}, but at its source {remains}")
        elif migration.status == "error" and not migration.reason:
            yield Violation(ViolationKind.UNEXPLAINED, uuid, f"the move of {instance} failed without a reason")


def _check_deleted(
    uuid: str, instance: InstanceState | None, guests: list[GuestFile], claims: list[StoredClaim]
) -> Iterator[Violation]:
    if instance is not None and instance.status == "DELETING":
        yield Violation(ViolationKind.UNSETTLED, uuid, f"is DELETING, attempt {instance.attempt} on {instance.host}")
    elif instance is not None and instance.status not in ENDED_STATUSES:
        yield Violation(ViolationKind.LOST, uuid, f"its delete was acknowledged, and it is {instance.status}")
    if guests or claims:
        yield Violation(ViolationKind.LOST, uuid, f"its delete was acknowledged, but {_remains(guests, claims)}")


def _remains(guests: list[GuestFile], claims: list[StoredClaim]) -> str:
    running = ", ".join(f"attempt {guest.attempt} runs on {guest.name}" for guest in guests) or "nothing runs"
    stored = ", ".join(f"attempt {claim.attempt} is {claim.state} on {claim.host}" for claim in claims)
    return f"{running}, and {stored or 'no claim lives'}"


def _stopped(history: CallHistory, state: FinalState, promises: Promises) -> Iterator[Violation]:
    """Yield guests that ran, according to an observer or a journal, and ended without a request."""
    running = {(guest.uuid, guest.attempt, guest.host) for guest in state.guests}
    journal_ends: Mapping[tuple[str, int, str], str] = {
        (item.uuid, item.attempt, item.host): f"the journal ends it as {item.outcome}: {item.reason}"
        for item in state.attempts
        if not item.is_live
    }
    # By guest, when it started and when it ended, as far as an observer saw it.
    booted = {uuid: item.began_at for item in history.operations if item.verb == "boot" for uuid in item.uuids}
    ran = {
        (item.uuid, item.attempt, item.host): (booted.get(item.uuid, 0.0), math.inf)
        for item in state.attempts
        if item.was_spawned
    }
    for item in history.guests:
        key = (item.uuid, item.attempt, item.host)
        ran[key] = (ran.get(key, (booted.get(item.uuid, 0.0), 0.0))[0], item.at) if item.ended else (item.at, math.inf)
    for key in sorted(ran.keys() - running):
        if key[0] not in promises.maybe_ended and not history.has_lost_power(key[2], *ran[key]):
            why = journal_ends.get(key, "the journal does not say why")
            yield Violation(ViolationKind.STOPPED, key[0], f"attempt {key[1]} ran on {key[2]} and is gone; {why}")


def _check_double_guests(history: CallHistory) -> Iterator[Violation]:
    """Yield guests that ran at the same time as another copy.

    Both copies may run for seconds if a store forgot the fence of a host that returned since (docs/failures.md).
    """
    for sighting in history.guests:
        hosts = {sighting.host, *(other.rpartition(" ")[2] for other in sighting.others)}
        may_be_unfenced = any(history.may_have_forgotten_fence(host, sighting.at) for host in hosts)
        if sighting.others and not sighting.ended and not may_be_unfenced:
            others = ", ".join(sighting.others)
            yield Violation(
                ViolationKind.DOUBLY_RUNNING,
                sighting.uuid,
                f"attempt {sighting.attempt} on {sighting.host} and {others}, at {sighting.at:.3f} s",
            )


def _seen_oversold(history: CallHistory) -> Iterator[Violation]:
    for sighting in history.uses:
        if not sighting.is_reasserted:
            yield Violation(
                ViolationKind.OVERSOLD,
                sighting.provider,
                f"{sighting.used} of {sighting.capacity} {sighting.resource_class} written at {sighting.at:.3f} s",
            )


def _check_crowded_groups(history: CallHistory, state: FinalState) -> Iterator[Violation]:
    """Yield guests that started although the running guests left too little capacity."""
    allocations = {
        (item.consumer, item.attempt, item.host.partition("/")[0]): item.allocations
        for item in history.claims
        if item.allocations
    }
    capacity = state.capacity
    used: Counter[tuple[str, str]] = Counter()
    running: set[tuple[str, int, str]] = set()
    for sighting in history.guests:
        guest = (sighting.uuid, sighting.attempt, sighting.host)
        if sighting.ended == (guest not in running):
            continue
        running ^= {guest}
        for provider, amounts in allocations.get(guest, {}).items():
            for resource_class, amount in amounts.items():
                used[provider, resource_class] += -amount if sighting.ended else amount
                limit = capacity.get(provider, {}).get(resource_class)
                if not sighting.ended and limit is not None and used[provider, resource_class] > limit:
                    yield Violation(
                        ViolationKind.OVERSOLD,
                        provider,
                        f"guests use {used[provider, resource_class]} of {limit} {resource_class} with attempt "
                        f"{sighting.attempt} of {sighting.uuid}, at {sighting.at:.3f} s",
                    )
