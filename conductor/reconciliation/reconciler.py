# SPDX-License-Identifier: Apache-2.0
"""Periodic comparison of instance records with their claims.

A fence, a lost journal or a lost write of the store changes no record, since the conductor may be down at that time.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from oslo_log import log

from conductor import claim_answers, metrics, milestones
from conductor.claim_answers import ClaimAnswerRow
from conductor.collaborators import CALL_ERRORS, Conductor, summarize_error
from conductor.lookup import find_instances
from conductor.saga import moves
from conductor.saga.transitions import lose, set_step, settle_claims, without_loss
from conductor.store.interface import PAGE
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import context, errors, objects
from rpcapi.background import BackgroundLoop
from rpcapi.context import RequestContext
from rpcapi.resources import names
from rpcapi.resources.claims import ENDS, MAX_INSTANCES, Answer, ClaimRole
from rpcapi.resources.statuses import ON_HOST, WITHOUT_CLAIM, InstanceStatus
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)

ENDED = ENDS | {Answer.UNKNOWN}
FATES: Mapping[str, str] = {
    Answer.FENCED: "was fenced",
    Answer.UNKNOWN: "has no claim of it: the host was removed or lost its journal, or the store lost the claim",
}
CALL_SECONDS = 20.0
PAGE_PAUSE = 0.5  # seconds between two pages, so that other calls are not slowed down
JITTER = 0.2  # random part of the interval, plus or minus, so that conductors do not compare at once


class _Claim(NamedTuple):
    instance: InstanceRecord
    attempt: int
    partition: str | None


class RecordReconciler(BackgroundLoop):
    """Periodic comparison of all settled records with their claims, page by page, every ``interval`` seconds.

    A settled instance is on its host, and its step is DONE, OFFLOAD or VERIFY. Records without a claim are compared as
    well if the instance may run: the store has lost writes since, or the host fell silent after confirming the claim.

    - Fenced claim: the record goes to ERROR, unless step ABORT finds another claim.
    - Claim that ended otherwise, or is missing while no host is awaited: the same, but only when the next comparison
      finds it again, since a report may be on its way.
    - Claim on another host or of a later attempt: the record follows the claim.
    - VERIFY_RESIZE without the destination's claim returns to its source; without the source's claim it is confirmed.
    """

    def __init__(self, conductor: Conductor, interval: float) -> None:
        super().__init__("reconciler")
        self._conductor = conductor
        self._interval = interval
        self._marker: str | None = None
        self._ended: set[tuple[str, int]] = set()  # attempts that this comparison found without a live claim
        self._ended_before: set[tuple[str, int]] = set()  # attempts that the previous comparison found
        self._silent: set[str] = set()  # partitions that did not answer this comparison

    def run_once(self) -> float:
        """Compare one page; return the seconds until the next page."""
        page = self._conductor.store.page(self._marker, PAGE, deleted=False)
        epoch = self._conductor.store.epoch()
        self._compare([instance for instance in page.records if _is_settled(instance) or _is_doubtful(instance, epoch)])
        self._marker = page.marker
        if page.marker is not None:
            return PAGE_PAUSE
        self._ended_before, self._ended = self._ended, set()
        self._silent.clear()
        return self._interval * random.uniform(1 - JITTER, 1 + JITTER)

    def handle_failure(self, error: Exception) -> float:
        if isinstance(error, errors.Unavailable):
            LOG.warning("Comparison of records with claims failed; retrying: %s", summarize_error(error))
        else:
            LOG.exception("Comparison of records with claims failed; retrying")
        return self._interval

    def compare(self, uuids: Sequence[str]) -> None:
        """Compare these records now, and act without a second comparison.

        For a record in ERROR with a live claim, the build is sent again, so that the host reports what runs. Raises,
        before any change, InvalidRequest, Unavailable or a subclass, UnknownInstance, or InstanceConflict while a step
        is due.
        """
        check_uuids(uuids, MAX_INSTANCES)
        records = find_instances(self._conductor.store, uuids)
        for uuid, record in records.items():
            if record.step != SagaStep.DONE and not _is_settled(record):
                why = f"it is {record.status}, and its step {record.step} is in progress; retry"
                raise errors.InstanceConflict(uuid=uuid, why=why)
        compared = [
            record for record in records.values() if record.status in ON_HOST or record.status == InstanceStatus.ERROR
        ]
        updates = []
        for partition, claims in _by_partition(compared, _own_claim):
            updates += [
                update
                for claim, result in self._find(partition, claims)
                if (update := compared_record(claim.instance, result.answer, result.host, result.migration)) is not None
            ]
        changed = {update.uuid for update in updates}
        resting = [record for record in compared if record.open_migration is None and record.uuid not in changed]
        updates += self._find_elsewhere(resting, set())
        self._write(compared, updates)

    def _compare(self, instances: Sequence[InstanceRecord]) -> None:
        updates = [update for group in _by_partition(instances, _own_claim) for update in self._updates(*group)]
        changed = {update.uuid for update in updates}
        moved = [record for record in instances if record.open_migration is not None and record.uuid not in changed]
        updates += [update for group in _by_partition(moved, _source_claim) for update in self._updates(*group)]
        resting = [record for record in instances if record.open_migration is None and record.uuid not in changed]
        updates += self._find_elsewhere(resting, self._silent)
        self._write(instances, updates)

    def _write(self, instances: Sequence[InstanceRecord], updates: Sequence[InstanceRecord]) -> None:
        if not updates:
            return
        stale = self._conductor.store.write_changes(updates)
        if any(record.step != SagaStep.DONE for record in updates):
            self._conductor.wake()
        metrics.RECONCILED.inc(len(updates) - len(stale))
        milestones.report_changes(instances, updates, stale)

    def _updates(self, partition: str | None, claims: Sequence[_Claim]) -> Sequence[InstanceRecord]:
        try:
            rows = self._find(partition, claims)
            self._begin_moves_again(partition, [row[0] for row in rows if _is_forgotten_source(*row)])
            return [update for row in rows if (update := self._update(*row)) is not None]
        except CALL_ERRORS as error:
            LOG.warning(
                "Comparison of %d records with claims of partition %s failed; the next comparison repeats it: %s",
                len(claims),
                partition or self._conductor.clients.partition,
                summarize_error(error),
            )
            return []

    def _find_elsewhere(self, instances: Sequence[InstanceRecord], silent: set[str]) -> list[InstanceRecord]:
        """Return updates of uncertain records whose attempt, or a later one, is live in a different partition.

        A record with a claim of its own follows only an end of a move, whose other end its claim may be. Skips the
        ``silent`` partitions, and adds partitions that do not answer.
        """
        epoch = self._conductor.store.epoch()
        doubtful = [_own_claim(record) for record in instances if record.certain_epoch != epoch]
        if not doubtful:
            return []
        updates: dict[str, InstanceRecord] = {}
        clients = self._conductor.clients
        try:
            partitions = clients.scheduler.list_partitions(_context()).names
        except CALL_ERRORS as error:
            LOG.warning("Cannot list the partitions; the next comparison does: %s", summarize_error(error))
            return []
        for partition in partitions:
            claims = [claim for claim in doubtful if (claim.partition or clients.partition) != partition]
            if not claims or partition in silent:
                continue
            try:
                live = [
                    claim.instance
                    for claim, result in self._find(partition, claims)
                    if result.answer in (Answer.CONFIRMED, Answer.CONFLICT)
                    and (claim.instance.status in WITHOUT_CLAIM or self._moves(partition, claim.instance))
                ]
            except CALL_ERRORS as error:
                silent.add(partition)
                LOG.warning("Comparison with partition %s failed; retrying: %s", partition, summarize_error(error))
                continue
            updates |= {record.uuid: settle_claims(replace(record, partition=partition)) for record in live}
        return list(updates.values())

    def _moves(self, partition: str, instance: InstanceRecord) -> bool:
        """Return whether the partition has an end of a move of the instance."""
        client = self._conductor.clients.claims_of(partition)
        page = client.list_claims(_context(), consumer=instance.uuid)
        return any(claim["role"] != ClaimRole.ONLY for claim in page.claims)

    def _find(self, partition: str | None, claims: Sequence[_Claim]) -> list[tuple[_Claim, ClaimAnswerRow]]:
        refs = [(claim.instance.uuid, claim.attempt) for claim in claims]
        results = claim_answers.find(_context(), self._conductor.clients, partition, refs)
        return list(zip(claims, results, strict=True))

    def _begin_moves_again(self, partition: str | None, sources: Sequence[_Claim]) -> None:
        """Make claims sources again after their partition lost the role; destinations may be elsewhere.

        A host's first audit after a loss restores roles, but may precede the message that sets this role.
        """
        if not sources:
            return
        refs = objects.ClaimRefs.of(
            consumers=[claim.instance.uuid for claim in sources], attempts=[claim.attempt for claim in sources]
        )
        client, migrations = (
            self._conductor.clients.claims_of(partition),
            [claim.instance.move.uuid for claim in sources],
        )
        answers = client.begin_moves(_context(), refs, migrations).answers
        begun = answers.count(Answer.CONFIRMED)
        if begun:
            LOG.info(
                "Restarted %d moves that partition %s had forgotten",
                begun,
                partition or self._conductor.clients.partition,
            )

    def _update(self, claim: _Claim, result: ClaimAnswerRow) -> InstanceRecord | None:
        answer = result.answer
        if claim.attempt == claim.instance.attempt:
            update = compared_record(claim.instance, answer, result.host, result.migration)
        else:
            answer = result.state
            update = compared_source(claim.instance, answer)
        attempt = (claim.instance.uuid, claim.attempt)
        if answer in ENDED and answer != Answer.FENCED and attempt not in self._ended_before:
            self._ended.add(attempt)
            return None
        if update is not None and update.step == SagaStep.CAST and not self._is_alive(update.host):
            return None  # a silent host would not report after another build message
        return update

    def _is_alive(self, name: str | None) -> bool:
        document = self._conductor.clients.service_document(_context(), names.host_of(name or ""))
        return document is not None and bool(document.get("alive"))


def _context() -> RequestContext:
    return context.new().with_timeout(CALL_SECONDS)


def _is_forgotten_source(claim: _Claim, result: ClaimAnswerRow) -> bool:
    """Return whether the claim at a move's source has lost its role in the partition."""
    return (
        claim.attempt != claim.instance.attempt
        and result.answer == Answer.CONFIRMED
        and result.migration != claim.instance.move.uuid
    )


def compared_record(
    instance: InstanceRecord, answer: str, host: str | None, migration: str | None = None
) -> InstanceRecord | None:
    """Return the record as changed by the answer about its claim, None if unchanged.

    ``migration`` is the claim's migration, None outside a move.
    """
    is_elsewhere = answer == Answer.CONFIRMED and (host != instance.host or not moves.knows_move(instance, migration))
    if answer == Answer.CONFLICT or is_elsewhere:
        return settle_claims(instance)
    if instance.status == InstanceStatus.ERROR:
        return _revived(instance) if answer == Answer.CONFIRMED else None
    if answer not in ENDED or instance.status == InstanceStatus.SHELVED_OFFLOADED:
        return None
    fate = FATES.get(answer, f"no longer runs it: its claim was {answer}")
    reason = f"host {names.host_of(instance.host or '')} {fate}"
    return lose(instance, reason)


def compared_source(instance: InstanceRecord, answer: str) -> InstanceRecord | None:
    """Return the record as changed by the answer about its source, None if unchanged.

    A move without its source is confirmed.
    """
    if answer not in ENDED:
        return None
    fate = FATES.get(answer, f"no longer has it: its claim was {answer}")
    return moves.end_source(instance, f"host {names.host_of(instance.move.source_host)} {fate}")


def _revived(instance: InstanceRecord) -> InstanceRecord | None:
    """Return the record with step CAST, to send its build again; None if the host reported the attempt's end."""
    history = without_loss(instance, instance.attempt)
    revived = replace(instance, history=history, was_stopped=False)  # the host will report the power state
    if revived.has_ended(instance.attempt):
        return None
    return set_step(revived, SagaStep.CAST, status=InstanceStatus.BUILDING, asked=False, reason=None)


def _is_settled(instance: InstanceRecord) -> bool:
    return instance.status in ON_HOST and instance.step in (SagaStep.DONE, SagaStep.OFFLOAD, SagaStep.VERIFY)


def _is_doubtful(instance: InstanceRecord, epoch: int) -> bool:
    """Return whether an instance recorded without a claim may run.

    Either the store has lost data since, or the host fell silent after confirming the claim.
    """
    rests = instance.status in WITHOUT_CLAIM and instance.step == SagaStep.DONE
    return rests and (instance.certain_epoch != epoch or instance.asked)


def _own_claim(instance: InstanceRecord) -> _Claim:
    return _Claim(instance, instance.attempt, instance.partition)


def _source_claim(instance: InstanceRecord) -> _Claim:
    return _Claim(instance, instance.move.source_attempt, instance.move.source_partition)


def _by_partition(
    instances: Iterable[InstanceRecord], claim_of: Callable[[InstanceRecord], _Claim]
) -> list[tuple[str | None, list[_Claim]]]:
    groups: dict[str | None, list[_Claim]] = {}
    for claim in map(claim_of, instances):
        groups.setdefault(claim.partition, []).append(claim)
    return list(groups.items())
