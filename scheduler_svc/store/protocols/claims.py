# SPDX-License-Identifier: Apache-2.0
"""Claims of a partition: their life cycle, queries and audits."""

import abc
from collections.abc import Sequence
from typing import Protocol

from rpcapi import errors
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, ClaimRef, ClaimResult
from scheduler_svc.store.records import AuditOutcome, RunningClaim, Verification


class ClaimVerbs(Protocol):
    """Changes of claims."""

    @abc.abstractmethod
    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Prepare a claim for every intent of the batch, or for none.

        A batch has at most MAX_INTENTS intents of MAX_CANDIDATES candidates each, MAX_BATCH_CANDIDATES in all. Claims
        past their deadline do not count, neither in sums nor in server groups.
        """

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Prepare one batch after the other: return for each its answer, or the error that ``prepare`` would raise.

        A store that can sends them together, and with ``log_after``, a log position, returns at most
        CARRIED_ENTRIES of the log's entries after it too, as ``follow`` would after the last batch. Raises
        StoreUnavailable where it is unknown which of them were prepared.
        """
        outcomes: list[BatchAnswer | errors.GanttError] = []
        for batch in batches:
            try:
                outcomes.append(self.prepare(batch))
            except errors.GanttError as error:
                outcomes.append(error)
        return BatchOutcomes(outcomes)

    @abc.abstractmethod
    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Confirm prepared claims of service host ``host``, each independently.

        ``host_uuid``, here and in ``abort``, ``release`` and ``audit``, is the uuid of the calling agent's state
        folder, "" if it names none; None: another caller, which is not checked. Raises HostIdentityConflict
        if another folder owns the host's name.

        Returns for each claim CONFIRMED (also when it was confirmed before), EXPIRED, ABORTED, RELEASED, UNKNOWN,
        FOREIGN, or CLOSED: the host must audit first, because the store may have forgotten the claim's end, or another
        host reports an unverified claim of the consumer.
        """

    @abc.abstractmethod
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

    @abc.abstractmethod
    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Release claims of service host ``host``, prepared or confirmed.

        Returns for each claim RELEASED, its former end, or FOREIGN. Releasing a claim that never existed is allowed:
        it returns RELEASED and stores a tombstone.
        """

    @abc.abstractmethod
    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """Make confirmed claims the sources of migrations; each keeps its identity, and no sum changes.

        Returns for each claim CONFIRMED, also if it is that source already; ENDED if the migration has ended; CONFLICT
        if the claim is the destination of a move, or the migration holds another source; or else as ``find``, and
        nothing was changed.
        """

    @abc.abstractmethod
    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """Make the sources of migrations the only claims of their instances again, and end the migrations.

        Returns for each claim CONFIRMED, also if it is no source of that migration; CONFLICT with the host of the
        destination while that is live; or else as ``find``, and nothing was changed.
        """


class ClaimQueries(Protocol):
    """Reads of live claims, and their verification."""

    @abc.abstractmethod
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

    @abc.abstractmethod
    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        """Return the prepared claims that expire first, in this order; raises InvalidRequest as ``claims`` does.

        Those past their deadline on a host that must audit first are not among them, and count as confirmed.
        """

    @abc.abstractmethod
    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Look up claims; accepts at most MAX_REFS.

        Returns for each PREPARED or CONFIRMED with its node; how it ended; CONFLICT with the node of a later attempt
        that is live; CLOSED where a host must audit before it is known, or the consumer has unverified claims; or
        UNKNOWN. A claim past its deadline on an open host is ended.
        """

    @abc.abstractmethod
    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return the number of live claims of a server group on each host: a hint, since ``prepare`` checks again."""

    @abc.abstractmethod
    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return the node of each consumer's live claim, for those that have one.

        Accepts at most MAX_REFS consumers.
        """

    @abc.abstractmethod
    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return the node on which each consumer that moves counts already: a migration holds its source there.

        That is a member of the group as ``group_hosts`` counts them. Accepts at most MAX_REFS consumers.
        """

    @abc.abstractmethod
    def clock_lead(self) -> int:
        """Return the milliseconds to add to the partition's time, as in claims' deadlines, to get its server's clock.

        The difference changes whenever that clock steps: it is for human readers only.
        """

    @abc.abstractmethod
    def verify(self) -> Verification:
        """Recompute all sums from the claims, as of one atomic read, and return the differences."""


class ClaimAudits(Protocol):
    """Comparison of claims with what runs on a service host."""

    @abc.abstractmethod
    def audit(
        self,
        host: str,
        epoch: int,
        running: Sequence[RunningClaim],
        grace_ms: int,
        *,
        host_uuid: str | None = None,
    ) -> AuditOutcome:
        """Reconcile the claims of service host ``host`` with what runs there, and open the host in ``epoch``.

        In the host's first audit of an epoch what runs is the truth. A confirmed claim that the store lost is
        re-asserted (an excess is flagged); a reported attempt later than the live one proves that the live one had
        ended, unless the host of that one has reported it in this epoch. Otherwise a confirmed attempt that the store
        does not know, or knows on another host, is UNVERIFIED: it counts against its host's capacity and as a member of
        its group, is no claim of its consumer, ends no other claim, and stays until it is vouched for, released or no
        longer reported; until then no attempt of its consumer is prepared or confirmed. A fenced host's next audit is
        not a first one. A claim that ended stays ended, and the answer says so. A prepared claim of an earlier epoch
        is aborted, because the store may have forgotten that it was aborted before. A confirmed or unverified
        claim that is not reported is an orphan, and is released when it is still an orphan after ``grace_ms``.

        Returns a ClaimResult for each reported claim, in order. Where ``epoch`` is not the store's, nothing is opened
        and no results are returned: the agent then audits again in the returned epoch. Raises UnknownHost where
        ``host`` never reported: once opened, it would be awaited in each new epoch.
        """

    @abc.abstractmethod
    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Make unverified claims of service host ``host`` claims of their consumers: records name these attempts.

        Returns for each CONFIRMED (also when it was before), its end, UNKNOWN (it is not unverified on that host), or
        CONFLICT: another attempt is live that is later, or that its host has reported in this epoch; or it holds more
        of other hosts' providers than those share and have left.
        """

    @abc.abstractmethod
    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        """Release all claims of service host ``host``, on which an operator declares that nothing runs.

        Returns the number of claims released. Their tombstones stay: if the agent comes back after all, its audit is
        answered that they were fenced, and it stops their guests. The host is no longer awaited. A later epoch awaits
        it only where it still counted as alive, because its return may be what the store forgot. The host takes claims
        again after its next audit.

        ``token`` identifies the fence for as long as tombstones are kept: a repeated call with it returns what the
        first one returned, and ends nothing. Raises UnknownHost, and HostIsUp for a host that counts as alive, unless
        ``force``. ``replace``: the machine is gone for good, so that the agent of another state folder may register.
        """
