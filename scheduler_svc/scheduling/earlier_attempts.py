# SPDX-License-Identifier: Apache-2.0
"""Attempts of a call that may already run, in whatever partition: looked for where the call is not fresh."""

from collections.abc import Iterable

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.replication.partitions import OpenPartition
from scheduler_svc.scheduling.calls import SelectionCall


class EarlierAttempts:
    """Looks for the claims of a call in all partitions.

    A store checks its own hosts when it prepares claims. Only this looks for attempts in the other partitions.
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


def _closed(consumer: str, attempt: int, partition: str) -> errors.ClaimClosed:
    why = f"an attempt of it may run in partition {partition}"
    return errors.ClaimClosed(consumer=consumer, attempt=attempt, why=why, host=None, partition=partition)
