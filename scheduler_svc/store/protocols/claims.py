# SPDX-License-Identifier: Apache-2.0
"""Claims of agents, and audits that reconcile them with guests."""

import abc
from collections.abc import Sequence
from typing import Protocol

from rpcapi import errors
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import BatchAnswer, BatchOutcomes, Claim, ClaimBatch, ClaimRef, ClaimResult
from scheduler_svc.store import validation
from scheduler_svc.store.bounded import CLAIMS, TOMBSTONES
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import AuditOutcome, RunningClaim, Verification
from scheduler_svc.store.verbs import audit as auditing
from scheduler_svc.store.verbs import ending, fencing, moves, queries
from scheduler_svc.store.verbs import prepare as preparing

NOT_STORED = frozenset({Answer.UNKNOWN, Answer.CLOSED})  # answers of ``find`` for an attempt without claim or tombstone


class ClaimQueries(VerbRunner, Protocol):
    """Queries of live claims, and verification."""

    def claims(
        self,
        *,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> tuple[list[Claim], str | None]:
        """Return a page of live claims, sorted by node and consumer, and the next marker.

        ``host`` is a service host or node, ``consumer`` an instance or migration; each selects its claims.
        """
        for name in (host, consumer):
            if name is not None:
                validation.check_name(name)
        validation.check_page(limit, marker)
        return self._run(queries.page, host, consumer, marker=marker, limit=limit)

    def prepared_claims(self, limit: int = 1000) -> list[Claim]:
        """Return up to ``limit`` prepared claims, earliest deadline first, without parked claims."""
        validation.check_page(limit)
        return self._run(queries.prepared, limit)

    def find(self, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Look up at most MAX_REFS claims. Overdue claims on open hosts end.

        Returns for each claim PREPARED or CONFIRMED with its node; its end; CONFLICT with the node of a later live
        attempt; CLOSED if a host must audit first or the consumer has unverified claims; otherwise UNKNOWN.
        """
        validation.check_refs(refs)
        return self._run(ending.find_all, refs)

    def group_hosts(self, group_id: str) -> dict[str, int]:
        """Return {node: number of the server group's live claims}. Only a hint: ``prepare`` checks again."""
        validation.check_name(group_id)
        return self._run(queries.group_hosts, group_id)

    def hosts_of(self, consumers: Sequence[str]) -> dict[str, str]:
        """Return {consumer: node} for consumers with a live claim. Accepts at most MAX_REFS consumers."""
        validation.check_consumers(consumers)
        return self._run(queries.hosts_of, consumers)

    def sources_of(self, consumers: Sequence[str], group_id: str) -> dict[str, str]:
        """Return {consumer: source node} for moving consumers whose source names the server group.

        In anti-affinity groups, ``group_hosts`` counts these sources too.
        """
        validation.check_consumers(consumers)
        validation.check_name(group_id)
        return self._run(queries.sources_of, consumers, group_id)

    @abc.abstractmethod
    def clock_lead(self) -> int:
        """Return the server's clock minus partition time in ms. For display only: it changes when the clock steps."""

    @abc.abstractmethod
    def verify(self) -> Verification:
        """Recompute all sums from the claims in one atomic read, and return the differences."""


class ClaimVerbs(ClaimQueries, Protocol):
    """Changes of claims."""

    def accepts_claims(self) -> bool:
        """Return whether claims and tombstones are below their limits, by the last measurement of this process."""
        return not (self.bounds.is_full(CLAIMS) or self.bounds.is_full(TOMBSTONES))

    def prepare(self, batch: ClaimBatch) -> BatchAnswer:
        """Prepare a claim for every intent of the batch, or for none. Overdue claims use no capacity.

        Accepts at most MAX_INTENTS intents, MAX_CANDIDATES candidates per intent and MAX_BATCH_CANDIDATES per batch.
        """
        validation.check_batch(batch)
        if not self.accepts_claims() and self._may_add_claims(batch):
            self.bounds.check(CLAIMS, TOMBSTONES)
        while (answer := self._run(preparing.prepare, batch, self.options["decision_bytes"])) is None:
            pass  # None: the call only expired a limited number of overdue claims
        return answer

    def prepare_all(self, batches: Sequence[ClaimBatch], log_after: int | None = None) -> BatchOutcomes:
        """Prepare batches in order. Returns for each batch the answer of ``prepare``, or the error that it raises.

        With ``log_after``, the result may include up to CARRIED_ENTRIES log entries after that position. Raises
        StoreUnavailable if it is unknown which batches were prepared.
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
        live = self._run(queries.hosts_of, [intent.consumer for intent in batch.intents])
        results = self._run(ending.find_all, [ClaimRef(intent.consumer, intent.attempt) for intent in batch.intents])
        return any(result.consumer not in live and result.answer in NOT_STORED for result in results)

    def confirm(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Confirm prepared claims of service host ``host``, each independently.

        Returns for each claim CONFIRMED (also if it already was), EXPIRED, ABORTED, RELEASED, UNKNOWN, FOREIGN, or
        CLOSED: the host must audit first, or another host reports an unverified claim of the consumer.

        ``host_uuid``, here and in ``abort``, ``release`` and ``audit``, is the uuid of the calling agent's state
        folder, or "" if the folder has none. None, for callers that are not agents, skips the check. Raises
        HostIdentityConflict if a different folder owns the host's name.
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

        ``destinations`` names per claim the only service host that may have received a build of the consumer: "" for
        no host, None for any host. Defaults to ``host``.

        Returns for each claim its end (ABORTED, EXPIRED or RELEASED), CONFIRMED (not ended), CLOSED (its host must
        audit first) or UNKNOWN. UNKNOWN leaves a tombstone, so that a delayed ``prepare`` of the attempt is refused.
        An unknown claim is CLOSED until its destination has audited, because the store may have forgotten the claim.
        A prepared claim on a host other than its destination ends without an audit.
        """
        destinations = validation.check_abort(refs, host, destinations)
        return self._run(ending.abort_all, refs, host, destinations, host_uuid=host_uuid)

    def release(self, host: str, refs: Sequence[ClaimRef], *, host_uuid: str | None = None) -> list[ClaimResult]:
        """Release prepared or confirmed claims of service host ``host``, each independently.

        Returns for each claim RELEASED, its earlier end, or FOREIGN. A claim that never existed is also RELEASED, and
        leaves a tombstone.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(ending.end_all, "release", host, refs, host_uuid=host_uuid)

    def begin_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """Turn confirmed claims into sources of migrations. Their identities and the sums do not change.

        Returns for each claim CONFIRMED (also if it already is the migration's source); ENDED if the migration has
        ended; CONFLICT if the claim is the destination of a move, or the migration has a different source; FOREIGN if
        the API owns the claim; otherwise the answer of ``find``.
        """
        validation.check_moves(refs, migrations)
        return self._run(moves.change_all, "begin_moves", refs, migrations)

    def end_moves(self, refs: Sequence[ClaimRef], migrations: Sequence[str]) -> list[ClaimResult]:
        """End migrations and turn their sources back into their instances' only claims.

        Returns for each claim CONFIRMED (also if it is not a source); ENDED if it is the source of a different
        migration; CONFLICT with the destination's node while the destination's claim is live; CLOSED while an
        unverified or forgotten attempt of the instance may run; otherwise the answer of ``find``.
        """
        validation.check_moves(refs, migrations)
        return self._run(moves.change_all, "end_moves", refs, migrations)


class ClaimAudits(VerbRunner, Protocol):
    """Comparison of stored claims with the guests of a service host."""

    def audit(
        self,
        host: str,
        epoch: int,
        running: Sequence[RunningClaim],
        grace_ms: int,
        *,
        host_uuid: str | None = None,
    ) -> AuditOutcome:
        """Reconcile the claims of service host ``host`` with its guests, and open the host in ``epoch``.

        In the host's first audit of an epoch, unless it was fenced, its guests are the truth:

        - A confirmed claim that the store lost is re-asserted; excess is flagged.
        - An attempt later than the consumer's live claim proves that the live claim ended, unless the live claim's
          host reported it in this epoch.

        In any audit:

        - Any other confirmed attempt that the store does not know, or knows on a different host, is UNVERIFIED. It
          uses capacity of its host and counts in its group, but is not its consumer's claim and ends no other claim.
          Until it is vouched for, released or no longer reported, no attempt of its consumer is prepared or confirmed.
        - An ended claim stays ended; the answer says so.
        - A prepared claim of an earlier epoch is aborted: the store may have forgotten an abort.
        - A confirmed or unverified claim that is not reported is an orphan, and is released after ``grace_ms``.

        Returns one ClaimResult per reported claim, in order. If ``epoch`` is not the store's, the host is not opened
        and there are no results: the agent must audit again in the returned epoch. Raises UnknownHost if ``host`` never
        reported, because an opened host is awaited in every new epoch.
        """
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        return self._run(auditing.audit, host, epoch, running, grace_ms=grace_ms, host_uuid=host_uuid)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Turn unverified claims of ``host`` into confirmed ones, because the conductors' records name these attempts.

        Returns for each claim CONFIRMED (also if it already was), its end, or UNKNOWN if it is not unverified on that
        host. Returns CONFLICT if a later attempt is live, if the consumer's live claim was reported by its host in this
        epoch, or if sharing providers outside the host's trees lack capacity.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(auditing.vouch_all, host, refs)

    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        """Release all claims of service host ``host``, which an operator declares lost. Returns their number.

        Tombstones remain: if the agent comes back, its audit answers that the claims were fenced, and it stops the
        guests. The host is no longer awaited, and accepts claims again after its next audit. A later epoch awaits the
        host only if it counted as alive, because the store may have forgotten its return.

        ``token`` makes the fence idempotent while tombstones are kept: a repeated call returns the first result.
        ``replace`` declares the machine gone for good, so that an agent with a different state folder may register.
        Raises UnknownHost, and HostIsUp for a live host unless ``force``.
        """
        validation.check_service_host(host)
        validation.check_name(token)
        while (ended := self._run(fencing.fence, host, token, force=force, replace=replace)) is None:
            pass
        return ended
