# SPDX-License-Identifier: Apache-2.0
"""Search of all partitions for attempts that may already run, for callers that cannot exclude them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.calls import SelectionCall

# Precedence of the answers that different partitions give about one attempt.
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
    """Search and end of claims across partitions, because a store only checks its own hosts."""

    def __init__(self, partitions: Iterable[OpenPartition]) -> None:
        self._partitions = tuple(partitions)

    def locate(self, call: SelectionCall) -> str | None:
        """Return the partition that knows the call's attempt, or None. Live attempts take precedence.

        Raises ClaimClosed while any partition may run a forgotten attempt or does not answer.
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
        """Abort claims without a destination in all partitions except ``name``, which has already done so.

        Returns the ``answers`` of partition ``name``, corrected: an attempt has ended only if no partition has this or
        a later attempt, awaits a host that may run it, or fails to answer. CONFLICT means that a later attempt is live,
        so the caller's record is out of date. Answers from other partitions name their partition.
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
    """Abort claims in the partition, unless it is ``name``. Return their state there."""
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
