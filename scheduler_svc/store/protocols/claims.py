# SPDX-License-Identifier: Apache-2.0
"""Claims of a partition: their life cycle and queries."""

import abc
from collections.abc import Sequence
from typing import Protocol

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, ClaimRef, ClaimResult
from scheduler_svc.store import validation
from scheduler_svc.store.bounded import CLAIMS, TOMBSTONES
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import Verification
from scheduler_svc.store.verbs import ending, moves, queries
from scheduler_svc.store.verbs import prepare as preparing

NOT_STORED = frozenset({Answer.UNKNOWN, Answer.CLOSED})  # of ``find``, for an attempt without claim and tombstone


class ClaimQueries(VerbRunner, Protocol):
    """Reads of live claims, and their verification."""

    def claims(
        self,
        *,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims, ordered by node and consumer, and the next marker.

        ``host`` is a service host or a node. Raises InvalidRequest where ``limit`` is above MAX_PAGE, as all pages do.
        """
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit, marker)
        return self._run(queries.page, host, consumer, marker=marker, limit=limit)

    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        """Return the prepared claims that expire first, in this order; raises InvalidRequest as ``claims`` does.

        Those past their deadline on a host that must audit first are not among them, and count as confirmed.
        """
        validation.check_page(limit)
        return self._run(queries.prepared, limit)

    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Look up claims; accepts at most MAX_REFS.

        Returns for each PREPARED or CONFIRMED with its node; how it ended; CONFLICT with the node of a later attempt
        that is live; CLOSED where a host must audit before it is known, or the consumer has unverified claims; or
        UNKNOWN. A claim past its deadline on an open host is ended.
        """
        validation.check_refs(refs)
        return self._run(ending.find_all, refs)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host: a hint, since ``prepare`` checks again."""
        validation.check_name(group_id)
        return self._run(queries.group_hosts, group_id)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer's live claim, for those that have one.

        Accepts at most MAX_REFS consumers.
        """
        validation.check_consumers(consumers)
        return self._run(queries.hosts_of, consumers)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the node on which each consumer that moves counts already: a migration holds its source there.

        That is a member of the group as ``group_hosts`` counts them. Accepts at most MAX_REFS consumers.
        """
        validation.check_consumers(consumers)
        validation.check_name(group_id)
        return self._run(queries.sources_of, consumers, group_id)

    @abc.abstractmethod
    def clock_lead(self) -> int:
        """Return the milliseconds to add to the partition's time, as in claims' deadlines, to get its server's clock.

        The difference changes whenever that clock steps: it is for human readers only.
        """

    @abc.abstractmethod
    def verify(self) -> Verification:
        """Recompute all sums from the claims, as of one atomic read, and return the differences."""


class ClaimVerbs(ClaimQueries, Protocol):
    """Changes of claims."""

    def accepts_claims(self) -> bool:
        """Return whether new claims are accepted, as far as this process knows; nothing is sent to the store."""
        return not (self.bounds.is_full(CLAIMS) or self.bounds.is_full(TOMBSTONES))

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Prepare a claim for every intent of the batch, or for none.

        A batch has at most MAX_INTENTS intents of MAX_CANDIDATES candidates each, MAX_BATCH_CANDIDATES in all. Claims
        past their deadline do not count, neither in sums nor in server groups.
        """
        validation.check_batch(batch)
        if not self.accepts_claims() and self._may_add_claims(batch):
            self.bounds.check(CLAIMS, TOMBSTONES)
        while (answer := self._run(preparing.prepare, batch, self._decision_bytes)) is None:
            pass  # it ended as many claims past their deadline as one step may
        return answer

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Prepare one batch after the other: return for each its answer, or the error that ``prepare`` would raise.

        A store that can sends them together, and with ``log_after``, a log position, returns at most
        CARRIED_ENTRIES of the log's entries after it too, as ``follow`` would after the last batch. Raises
        StoreUnavailable where it is unknown which of them were prepared.
        """
        if self.accepts_claims():
            return self._prepare_all(batches, log_after)
        return BatchOutcomes([self._outcome(batch) for batch in batches])

    def _prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None) -> BatchOutcomes:
        return BatchOutcomes([self._outcome(batch) for batch in batches])

    def _outcome(self, batch: ClaimBatch) -> BatchAnswer | errors.GanttError:
        try:
            return self.prepare(batch)
        except errors.GanttError as error:
            return error

    def _may_add_claims(self, batch: ClaimBatch) -> bool:
        """Return whether a claim of the batch would be neither known, nor ended, nor in place of a live one."""
        live = self._run(queries.hosts_of, [intent.consumer for intent in batch.intents])
        results = self._run(ending.find_all, [ClaimRef(intent.consumer, intent.attempt) for intent in batch.intents])
        return any(result.consumer not in live and result.answer in NOT_STORED for result in results)

    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Confirm prepared claims of service host ``host``, each independently.

        ``host_uuid``, here and in ``abort``, ``release`` and ``audit``, is the uuid of the calling agent's state
        folder, "" if it names none; None: another caller, which is not checked. Raises HostIdentityConflict
        if another folder owns the host's name.

        Returns for each claim CONFIRMED (also when it was confirmed before), EXPIRED, ABORTED, RELEASED, UNKNOWN,
        FOREIGN, or CLOSED: the host must audit first, because the store may have forgotten the claim's end, or another
        host reports an unverified claim of the consumer.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(ending.end_all, "confirm", host, refs, host_uuid=host_uuid)

    def abort(
        self,
        refs: Sequence[ClaimRef],
        host: str | None = None,
        destinations: Sequence[str | None] | None = None,
        *,
        host_uuid: str | None = None,
    ) -> list[ClaimResult]:
        """Abort prepared claims, each independently. With ``host``, a claim on another service host answers FOREIGN.

        ``destinations`` has for each claim the only service host that may have got a build of its consumer: "" if none
        has, None if any may have. The default is ``host`` for all.

        Returns for each claim its end (ABORTED, EXPIRED or RELEASED), CONFIRMED (a confirmed claim is not ended),
        CLOSED (its host must audit first) or UNKNOWN. For UNKNOWN a tombstone is stored, so that a delayed prepare
        of that attempt is refused. CLOSED is also returned for an unknown claim that the store may have forgotten,
        while its destination, or any host for None, must still audit. A prepared claim on a host that is not its
        destination is ended without that host's audit.
        """
        destinations = validation.check_abort(refs, host, destinations)
        return self._run(ending.abort_all, refs, host, destinations, host_uuid=host_uuid)

    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Release claims of service host ``host``, prepared or confirmed.

        Returns for each claim RELEASED, its former end, or FOREIGN. Releasing a claim that never existed is allowed:
        it returns RELEASED and stores a tombstone.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(ending.end_all, "release", host, refs, host_uuid=host_uuid)

    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """Make confirmed claims the sources of migrations; each keeps its identity, and no sum changes.

        Returns for each claim CONFIRMED, also if it is that source already; ENDED if the migration has ended; CONFLICT
        if the claim is the destination of a move, or the migration holds another source; or else as ``find``, and
        nothing was changed.
        """
        validation.check_moves(refs, migrations)
        return self._run(moves.change_all, "begin_moves", refs, migrations)

    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """Make the sources of migrations the only claims of their instances again, and end the migrations.

        Returns for each claim CONFIRMED, also if it is no source of that migration; CONFLICT with the host of the
        destination while that is live; or else as ``find``, and nothing was changed.
        """
        validation.check_moves(refs, migrations)
        return self._run(moves.change_all, "end_moves", refs, migrations)
