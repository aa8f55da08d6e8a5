# SPDX-License-Identifier: Apache-2.0
"""Audits of service hosts."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.core.records import ClaimRef, ClaimResult
from scheduler_svc.store import validation
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from scheduler_svc.store.verbs import audit as auditing
from scheduler_svc.store.verbs import fencing


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
        - An attempt later than the live one proves that the live one ended, unless the live one's host reported it in
          this epoch.

        In any audit:

        - Any other confirmed attempt that the store does not know, or knows on another host, is UNVERIFIED. It uses
          capacity of its host and counts for its group, but is not its consumer's claim and ends no other. It stays
          until it is vouched for, released or no longer reported; until then no attempt of its consumer is prepared or
          confirmed.
        - An ended claim stays ended; the answer says so.
        - A prepared claim of an earlier epoch is aborted: the store may have forgotten an abort.
        - A confirmed or unverified claim that is not reported is an orphan, and is released after ``grace_ms``.

        Returns one ClaimResult per reported claim, in order. If ``epoch`` is not the store's, nothing is opened and
        there are no results: the agent audits again in the returned epoch. Raises UnknownHost if ``host`` never
        reported: once opened, it would be awaited in each new epoch.
        """
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        return self._run(auditing.audit, host, epoch, running, grace_ms=grace_ms, host_uuid=host_uuid)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Turn unverified claims of ``host`` into confirmed ones: the conductors' records name these attempts.

        Returns for each claim CONFIRMED (also if it was before), its end, UNKNOWN if it is not unverified on that host,
        or CONFLICT if a later attempt is live, if the host of another attempt reported it in this epoch, or if shared
        providers of other hosts lack the capacity.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(auditing.vouch_all, host, refs)

    def fence(self, host: str, token: str, *, force: bool = False, replace: bool = False) -> int:
        """Release all claims of service host ``host``, which an operator declares dead. Return their number.

        Tombstones remain: if the agent comes back, its audit answers that the claims were fenced, and it stops the
        guests. The host is no longer awaited, and takes claims again after its next audit. A later epoch awaits it only
        if it still counted as alive: the store may have forgotten its return.

        ``token`` makes the fence idempotent while tombstones are kept: a repeated call returns the first result.
        ``replace`` declares the machine gone for good: an agent with another state folder may register. Raises
        UnknownHost, and HostIsUp for a live host unless ``force``.
        """
        validation.check_service_host(host)
        validation.check_name(token)
        while (ended := self._run(fencing.fence, host, token, force=force, replace=replace)) is None:
            pass
        return ended
