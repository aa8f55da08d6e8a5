# SPDX-License-Identifier: Apache-2.0
"""Which partition serves a request, or a server group: written down where every worker finds it again."""

import hashlib
from collections.abc import Sequence

from oslo_log import log

from rpcapi import errors
from scheduler_svc.partitions import Partition

LOG = log.getLogger(__name__)

WITNESSES = 2  # partitions that know of a pin, so that one of them may be away


class Pins:
    """Workers that ask for the same key agree on one partition, as long as one of the key's witnesses knows of it.

    The witnesses follow from the key. One that has been away within the last ``memory_s`` seconds may have missed what
    the other was told; so it is not believed alone, unless the other has itself been away for longer than that.
    """

    def __init__(self, partitions: Sequence[Partition], memory_s: float) -> None:
        self._partitions = partitions
        self._memory_s = memory_s

    def agree(self, key: str, wanted: str, ttl_ms: int, instead_of: str | None = None) -> str:
        """Return the partition that serves ``key``: the recorded one, or ``wanted``, which is then recorded.

        It is remembered for ``ttl_ms`` after the last time that it was asked for. ``instead_of`` is a recorded
        partition that may be replaced. Raises StoreUnavailable where nobody answers who can be believed.
        """
        answers: list[tuple[Partition, str]] = []
        complete = True
        # One that has been away for longer knows nothing that is not over.
        witnesses = [each for each in self._witnesses(key) if each.presence.away_s < self._memory_s]
        if witnesses and not self._is_sure(witnesses[0]) and any(each.presence.away for each in witnesses):
            witnesses = []  # asked in vain they would keep ``wanted``, and later be believed
        for witness in witnesses:
            try:
                told = answers[0][1] if answers else wanted
                answers.append((witness, witness.store.pin(key, told, ttl_ms, instead_of)))
            except errors.Unavailable as error:
                witness.presence.lost()
                complete = False
                LOG.info("Partition %s cannot tell who serves %s: %s", witness.name, key, error)
        if not answers or not (complete or self._is_sure(answers[0][0])):
            raise errors.StoreUnavailable(why=f"no partition answers that surely knows who serves {key}")
        return self._settled(key, wanted, ttl_ms, answers)

    def _settled(self, key: str, wanted: str, ttl_ms: int, answers: Sequence[tuple[Partition, str]]) -> str:
        """Return what holds where witnesses say different things, and tell it those who said otherwise."""
        first, said = answers[0]
        others = [answer for _, answer in answers[1:] if answer != said]
        if others and said == wanted and not self._is_sure(first):
            said = others[0]  # the first one may just have heard of the key from us
        for witness, answer in answers:
            if answer != said:
                try:
                    witness.store.pin(key, said, ttl_ms, instead_of=answer)
                except errors.Unavailable as error:
                    witness.presence.lost()
                    LOG.info("Partition %s cannot be told who serves %s: %s", witness.name, key, error)
        return said

    def _is_sure(self, witness: Partition) -> bool:
        return witness.presence.steady_s >= self._memory_s

    def _witnesses(self, key: str) -> list[Partition]:
        """Return the first of all partitions in an order that only the key decides, the steadiest before."""
        ranked = sorted(self._partitions, key=lambda each: _weight(each.name, key), reverse=True)[:WITNESSES]
        return sorted(ranked, key=lambda each: each.presence.steady_s, reverse=True)


def _weight(partition: str, key: str) -> bytes:
    """Return a partition's weight for a key (rendezvous hashing: Thaler and Ravishankar, 1998)."""
    return hashlib.blake2b(f"{partition} {key}".encode(), digest_size=8).digest()
