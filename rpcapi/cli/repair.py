# SPDX-License-Identifier: Apache-2.0
"""Repairs of the differences found by ``gantt audit``: a plan, and one conductor call per act."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

from rpcapi import errors
from rpcapi.admin import Session
from rpcapi.admin.error_messages import describe_error
from rpcapi.cli.command import CommandFailed
from rpcapi.cli.comparison import ClusterReading, Difference, describe_record, place_of_claim
from rpcapi.resources.claims import ClaimRole
from rpcapi.resources.statuses import GuestState, InstanceStatus

NO_REPAIR = "none"  # outcome, or its prefix, of a difference that stays
NEEDS_YES = f"{NO_REPAIR}: needs --yes"

Repair = Callable[[Session, Difference], None]


class Consent(StrEnum):
    NOT_NEEDED = ""
    YES = "--yes"  # the act ends a guest that may be running
    END = "--end"  # the act ends a guest that may be the original copy of its instance


class Act(NamedTuple):
    """Planned repair of one difference; without ``repair``, ``text`` is the reason or an advice."""

    difference: Difference
    text: str
    repair: Repair | None = None
    outcome: str = NO_REPAIR
    consent: Consent = Consent.NOT_NEEDED

    def may_start(self, *, yes: bool, ends: Collection[str]) -> bool:
        """Return whether the act has the consent that it needs; ``ends`` are the instances named by --end."""
        if self.consent is Consent.NOT_NEEDED or self.difference.instance in ends:
            return True
        return self.consent is Consent.YES and yes


def make_plan(reading: ClusterReading, differences: Iterable[Difference]) -> list[Act]:
    return [PLANS[item.kind](reading, item) if item.kind in PLANS else Act(item, _advice(item)) for item in differences]


def check_ends(plan: Sequence[Act], ends: Collection[str]) -> None:
    """Raise CommandFailed unless each instance in ``ends`` has an act that ends a guest."""
    instances = {act.difference.instance for act in plan if act.consent is not Consent.NOT_NEEDED}
    for uuid in ends:
        if uuid not in instances:
            raise CommandFailed(f"--end {uuid}: the audit finds no leaked migration of this instance with a guest")


def carry_out(session: Session, plan: Sequence[Act], *, yes: bool, ends: Collection[str]) -> list[str]:
    return [_carry_out_one(session, act, yes=yes, ends=ends) for act in plan]


def _carry_out_one(session: Session, act: Act, *, yes: bool, ends: Collection[str]) -> str:
    if act.repair is None:
        return NO_REPAIR
    if not act.may_start(yes=yes, ends=ends):
        return NEEDS_YES if act.consent is Consent.YES else f"{NO_REPAIR}: needs --end {act.difference.instance}"
    try:
        act.repair(session, act.difference)
    except errors.GanttError as error:
        return f"{NO_REPAIR}: {describe_error(error)}"
    return act.outcome


# -- plans by the kind of the difference -------------------------------------------------------------------------------


def _plan_adoption(reading: ClusterReading, difference: Difference) -> Act:
    """Plan to adopt a guest, unless its instance has a claim outside of the guest's migration."""
    instance, host = difference.instance, difference.host
    claims = [claim for claim in reading.claims if claim["consumer"] == instance]
    own = next((claim for claim in claims if place_of_claim(claim) == difference[1:4]), None)
    move = None if own is None else own["migration"]
    others = [claim for claim in claims if claim is not own and (move is None or claim["migration"] != move)]
    if others:  # an adoption would end the guests of the other claims
        places = ", ".join(f"attempt {claim['attempt']} on {claim['host']}" for claim in others)
        why = f"instance {instance} runs on {host} but has other claims: {places}"
        return Act(
            difference,
            f"{NO_REPAIR}: {why}; compare the copies, then delete the instance, or fence the host of the wrong copy",
        )
    if own is not None and own["role"] == ClaimRole.DESTINATION:
        why = f"{host} is the destination of migration {move}, which is adopted at its source"
        return Act(difference, f"{NO_REPAIR}: {why}; fence the source if its host is lost")
    return Act(difference, f"adopt instance {instance} running on {host}", _adopt, "adopted")


def _plan_release(reading: ClusterReading, difference: Difference) -> Act:
    text = f"release the unused claim of {difference.instance} on {difference.host}"
    return Act(difference, text, _release, "released")


def _plan_correction(reading: ClusterReading, difference: Difference) -> Act:
    """Plan to correct a record, unless the conductor would then end a guest with a live claim."""
    record = reading.instances.get(str(difference.instance))
    ended = set() if record is None else {entry["attempt"] for entry in record.history}
    for claim in reading.claims:
        if claim["consumer"] == difference.instance and claim["attempt"] in ended:
            why = f"the record says that attempt {claim['attempt']} ended, but {claim['host']} has its claim"
            return Act(difference, f"{NO_REPAIR}: {why} and may run it; delete the instance if nobody needs it")
    text = f"correct the record of {difference.instance}, found on {difference.host}, by its claim"
    return Act(difference, text, _compare, "record corrected")


def _plan_end_of_source(reading: ClusterReading, difference: Difference) -> Act:
    """Plan to end the source of a leaked migration, or to correct a record that names its attempt."""
    uuid, host = str(difference.instance), difference.host
    record = reading.instances.get(uuid)
    if record is not None and record.attempt == difference.attempt:
        text = f"correct the record of {uuid} by its claims: the one on {host} is the source of a migration"
        return Act(difference, text, _compare, "record corrected")
    guest = next((item for item in reading.guests if item.place == difference[1:4]), None)
    if guest is None:
        text = f"release the unused claim of {uuid} on {host}, the source of its migration"
        return Act(difference, text, _end_migration, "ended at its host")
    migration = reading.migration_of(guest.place)
    if record is None and migration is None:
        return _plan_adoption(reading, difference)
    return _plan_end_of_guest(reading, difference, migration, is_off=guest.state == GuestState.STOPPED)


def _plan_end_of_guest(reading: ClusterReading, difference: Difference, migration: Any, *, is_off: bool) -> Act:
    """Plan to end the guest at a leaked source, unless it may be the original or the only copy."""
    uuid, host = str(difference.instance), difference.host
    record, right_host = reading.instances.get(uuid), reading.confirmed_host(uuid)
    copy = f"the guest of instance {uuid} on {host}, the source of its migration"
    if migration is None:
        rival = f"its guest on {right_host}" if right_host else "another one"
        why = f"either {copy}, or {rival} is the original; the migration has no record"
        text = f"{NO_REPAIR}: {why}; compare them, and to end this one repeat with --end {uuid}"
        return Act(difference, text, _end_running_migration, "ended at its host", Consent.END)
    if record is not None and right_host in (None, host) and record.status != InstanceStatus.SHELVED_OFFLOADED:
        return Act(difference, f"{NO_REPAIR}: {copy}, may be the only one; {describe_record(record)}")
    copy_left = f"its guest on {right_host}" if right_host else "its image"
    remains = "which is deleted" if record is None else f"which keeps {copy_left}"
    if is_off:
        return Act(difference, f"end {copy}, {remains}", _end_migration, "ended at its host")
    text = f"end {copy}, {remains}; it may be running"
    return Act(difference, text, _end_running_migration, "ended at its host", Consent.YES)


def _advice(difference: Difference) -> str:
    return f"{NO_REPAIR}: {ADVICE.get(difference.kind, 'see gantt help audit')}"


# -- repairs -----------------------------------------------------------------------------------------------------------


def _refs(difference: Difference) -> Any:
    from rpcapi import objects  # noqa: PLC0415 - lazy, see session

    return objects.ClaimRefs.of(consumers=_instances(difference), attempts=[difference.attempt])


def _instances(difference: Difference) -> list[str]:
    if difference.instance is None:
        raise ValueError(f"{difference.kind} has no instance to repair")
    return [difference.instance]


def _adopt(session: Session, difference: Difference) -> None:
    partition = session.get_state("service", difference.host).partition
    session.call(session.conductor.adopt_instances, partition, difference.host, _instances(difference))


def _release(session: Session, difference: Difference) -> None:
    session.call(session.conductor.release_orphans, difference.host, _refs(difference))


def _end_migration(session: Session, difference: Difference, *, ends_running: bool = False) -> None:
    partition, refs = session.get_state("service", difference.host).partition, _refs(difference)
    session.call(session.conductor.end_leaked_migrations, partition, difference.host, refs, ends_running=ends_running)


_end_running_migration = partial(_end_migration, ends_running=True)


def _compare(session: Session, difference: Difference) -> None:
    session.call(session.conductor.compare_instances, _instances(difference))


PLANS: Mapping[str, Callable[[ClusterReading, Difference], Act]] = {
    "guest without record": _plan_adoption,
    "unverified claim": _plan_adoption,
    "claim without guest": _plan_release,
    "record without claim": _plan_correction,
    "guest and record differ": _plan_correction,
    "leaked migration": _plan_end_of_source,
}
ADVICE: Mapping[str, str] = {
    "guest without claim": "restart its agent, which audits; if that does not help, delete the instance",
    "second copy": "compare the copies, then delete the instance, or fence the host of the wrong copy",
    "guest without journal": "restart its agent",
    "host not compared": "start its agent, or fence the host",
}
