# SPDX-License-Identifier: Apache-2.0
"""The store's verbs: one interface, one test suite, two backends."""

import abc
from collections.abc import Mapping, Sequence

from conductor.store.records import Instance, Lease, Page, Request, Work, Written

PAGE = 500  # records that one script reads or writes at most, the recording of a request excepted


class Store(abc.ABC):
    """Requests, their instances, and one queue of due work that is timer and lease at once.

    Each verb, and each chunk of PAGE records of a larger one, is atomic. Time is the store's own. Every verb
    raises StoreUnavailable when the store does not answer.
    """

    @abc.abstractmethod
    def record(self, request: Request, uuids: Sequence[str]) -> bool:
        """Record a request with all its instances, or nothing, and make it due; False: it was recorded before.

        Raises InstanceConflict when one of ``uuids`` belongs to another request.
        """

    @abc.abstractmethod
    def take(self, owner: str, limit: int) -> list[Lease]:
        """Take up to ``limit`` requests that are due, longest due first, for one lease's time."""

    @abc.abstractmethod
    def load(self, lease: Lease) -> Work:
        """Return what is due of the request, and renew the lease; raises LeaseLost."""

    @abc.abstractmethod
    def write(self, lease: Lease, instances: Sequence[Instance]) -> Written:
        """Write records, each only where its version is still the recorded one, and renew the lease.

        Raises LeaseLost when another has taken the request over; then nothing of that chunk is written.
        """

    @abc.abstractmethod
    def note(self, instances: Sequence[Instance], *, wake: bool) -> Written:
        """Write records without a lease, as ``write`` does: a fact that was reported, a wish of the owner.

        ``wake`` makes their requests due at once, or again as soon as the present holder releases them.
        """

    @abc.abstractmethod
    def release(self, lease: Lease, next_ms: int | None) -> bool:
        """Give the lease back; the request is due again at ``next_ms``, at once where it was woken meanwhile.

        None: there is nothing more to do. False: the lease was lost already.
        """

    @abc.abstractmethod
    def get(self, uuids: Sequence[str]) -> dict[str, Instance]:
        """Return those of the named instances that are recorded."""

    @abc.abstractmethod
    def requests(self, keys: Sequence[str]) -> dict[str, Request]:
        """Return those of the named requests that are recorded."""

    @abc.abstractmethod
    def page(self, marker: str | None, limit: int, *, deleted: bool) -> Page:
        """Return instances in the order of their creation; deleted ones only where asked for.

        Raises InvalidRequest for a marker that no page gave.
        """

    @abc.abstractmethod
    def counts(self) -> Mapping[str, int]:
        """Return how many instances are recorded in each status."""

    @abc.abstractmethod
    def purge(self, limit: int = PAGE) -> int:
        """Forget deleted instances whose retention is over; returns how many."""

    @abc.abstractmethod
    def ping(self) -> None:
        """Return when the store answers."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of connections; the store itself stays."""
