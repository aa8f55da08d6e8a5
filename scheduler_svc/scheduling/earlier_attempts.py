# SPDX-License-Identifier: Apache-2.0
"""Attempts that may already run, in whatever partition: looked for where the caller is not certain of them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.calls import SelectionCall

# The answers that all partitions together give for an attempt, the most important first.
ORDER = (
    Answer.CONFIRMED,
    Answer.CONFLICT,
    Answer.UNVERIFIED,
    Answer.PREPARED,
    Answer.CLOSED,
    Answer.FENCED,
    Answer.RELEASED,
    Answer.EXPIRED,
    Answer.ABORTED,
    Answer.UNKNOWN,
)


class EarlierAttempts:
    """Looks for claims in all partitions, and ends them.

    A store checks its own hosts. Only this looks for attempts in the other partitions.
    """

    def __init__(self, partitions: Iterable[OpenPartition]) -> None:
        self._partitions = tuple(partitions)

    def locate(self, call: SelectionCall) -> str | None:
        """Return the partition that knows an attempt of the call, a live one if there is any; None if none does.

        Raises ClaimClosed while a host of any partition may run an attempt: its store forgot it, or does not answer.
        """
        live, ended = [], []
        for partition in self._partitions:
            try:
                results = partition.store.find([ClaimRef(consumer, call.attempt) for consumer in call.consumers])
                hosts = partition.store.hosts_of(call.consumers)
            except errors.StoreUnavailable as error:
                partition.presence.record_failure()
                raise _closed(call.consumers[0], call.attempt, partition.name) from error
            for result in results:
                if result.answer is Answer.CLOSED:
                    raise _closed(result.consumer, result.attempt, partition.name)
            if hosts:
                live.append(partition.name)
            elif any(result.answer is not Answer.UNKNOWN for result in results):
                ended.append(partition.name)
        return next(iter(live + ended), None)

    def abort(
        self,
        name: str,
        refs: Sequence[ClaimRef],
        answers: Sequence[ClaimResult],
        destinations: Sequence[str | None] | None,
    ) -> list[ClaimResult]:
        """Abort in all other partitions than ``name`` the claims whose destination is None.

        Returns the ``answers`` of that partition, which has aborted them, changed accordingly: such an attempt has
        ended if no partition has it or a later one, awaits a host that may run it, or fails to answer. Where a later
        attempt is live, the caller's record is older than the claims: CONFLICT. Answers of other partitions name them.
        """
        hosts = destinations or [None] * len(refs)
        uncertain = [ref for ref, host in zip(refs, hosts, strict=True) if host is None]
        if not uncertain:
            return list(answers)
        everywhere: dict[ClaimRef, ClaimResult] = {}
        for partition in self._partitions:
            for ref, result in zip(uncertain, _end_in(partition, uncertain, name), strict=True):
                former = everywhere.setdefault(ref, result)
                everywhere[ref] = min(former, result, key=lambda candidate: ORDER.index(candidate.answer))
        return [everywhere.get(ref, answer) for ref, answer in zip(refs, answers, strict=True)]


def _end_in(partition: OpenPartition, refs: Sequence[ClaimRef], name: str) -> list[ClaimResult]:
    """Return what the partition knows of claims once they are aborted there, as they are in partition ``name``."""
    is_elsewhere = partition.name != name
    try:
        if is_elsewhere:
            partition.store.abort(refs)
        results = partition.store.find(refs)
    except errors.StoreUnavailable:
        partition.presence.record_failure()
        return [ClaimResult(*ref, Answer.CLOSED) for ref in refs]
    return [replace(result, partition=partition.name) for result in results] if is_elsewhere else results


def _closed(consumer: str, attempt: int, partition: str) -> errors.ClaimClosed:
    why = f"an attempt of it may run in partition {partition}"
    return errors.ClaimClosed(consumer=consumer, attempt=attempt, why=why, host=None, partition=partition)
