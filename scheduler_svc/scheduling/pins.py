# SPDX-License-Identifier: Apache-2.0
"""Pins: agreement of all workers on the partition of a request."""

import hashlib
from collections.abc import Iterable, Sequence

from oslo_log import log

from rpcapi import errors
from scheduler_svc.replication.partitions import OpenPartition

LOG = log.getLogger(__name__)

WITNESSES = 2  # partitions that store each pin, so that one of them may be unavailable


class PartitionPins:
    """Agreement of workers on one partition per key, while a witness of the key stores the pin.

    A witness that was unavailable in the last ``memory_s`` seconds may have missed a pin. It is trusted alone only if
    the other witness has been unavailable for longer than that.
    """

    def __init__(self, partitions: Sequence[OpenPartition], memory_s: float) -> None:
        self._partitions = partitions
        self._memory_s = memory_s

    def agree(self, key: str, proposed: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Return the partition pinned for ``key``. Pin ``proposed`` if there is no pin, or one to ``instead_of``.

        A pin expires ``ttl_ms`` after its last use. Raises StoreUnavailable if no authoritative witness answers.
        """
        answers: list[tuple[OpenPartition, str]] = []
        complete = True
        # Witnesses that have been away for longer only have expired pins.
        witnesses = [partition for partition in self._witnesses(key) if partition.presence.away_s < self._memory_s]
        if (
            witnesses
            and not self._is_authoritative(witnesses[0])
            and any(partition.presence.away for partition in witnesses)
        ):
            witnesses = []  # a failed attempt would store ``proposed`` where it is trusted later
        for witness in witnesses:
            try:
                suggestion = answers[0][1] if answers else proposed
                answers.append((witness, witness.store.pin(key, suggestion, ttl_ms, instead_of)))
            except errors.Unavailable as error:
                witness.presence.record_failure()
                complete = False
                LOG.info("Cannot ask partition %s for the pin of %s: %s", witness.name, key, error)
        if not answers or not (complete or self._is_authoritative(answers[0][0])):
            raise errors.StoreUnavailable(why=f"no authoritative partition for {key} is reachable")
        return self._settle(key, proposed, ttl_ms, answers)

    def _settle(self, key: str, proposed: str, ttl_ms: int, answers: Sequence[tuple[OpenPartition, str]]) -> str:
        first, agreed = answers[0]
        others = [answer for _, answer in answers[1:] if answer != agreed]
        if others and agreed == proposed and not self._is_authoritative(first):
            agreed = others[0]  # the first witness may have stored the pin only in this call
        for witness, answer in answers:
            if answer != agreed:
                try:
                    witness.store.pin(key, agreed, ttl_ms, instead_of=answer)
                except errors.Unavailable as error:
                    witness.presence.record_failure()
                    LOG.info("Partition %s cannot store the pin of %s: %s", witness.name, key, error)
        return agreed

    def _is_authoritative(self, witness: OpenPartition) -> bool:
        return witness.presence.steady_s >= self._memory_s

    def _witnesses(self, key: str) -> list[OpenPartition]:
        """Return the key's witnesses by rendezvous hashing. The witness that has been available longest comes first."""
        ranked = rank_by_key(self._partitions, key)[:WITNESSES]
        return sorted(ranked, key=lambda partition: partition.presence.steady_s, reverse=True)


def rank_by_key(partitions: Iterable[OpenPartition], key: str) -> list[OpenPartition]:
    """Order partitions by responsibility for ``key`` (rendezvous hashing: Thaler and Ravishankar, 1998)."""

    def weight(partition: OpenPartition) -> bytes:
        return hashlib.blake2b(f"{partition.name} {key}".encode(), digest_size=8).digest()

    return sorted(partitions, key=weight, reverse=True)
