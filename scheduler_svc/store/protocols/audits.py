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
    """Comparison of claims with what runs on a service host."""

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
        validation.check_service_host(host)
        validation.check_running(host, running)
        validation.check_number("grace in milliseconds", grace_ms, 0, validation.MAX_TTL_MS)
        return self._run(auditing.audit, host, epoch, running, grace_ms=grace_ms, host_uuid=host_uuid)

    def vouch(self, host: str, refs: Sequence[ClaimRef]) -> list[ClaimResult]:
        """Make unverified claims of service host ``host`` claims of their consumers: records name these attempts.

        Returns for each CONFIRMED (also when it was before), its end, UNKNOWN (it is not unverified on that host), or
        CONFLICT: another attempt is live that is later, or that its host has reported in this epoch; or it holds more
        of other hosts' providers than those share and have left.
        """
        validation.check_service_host(host)
        validation.check_refs(refs)
        return self._run(auditing.vouch_all, host, refs)

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
        validation.check_service_host(host)
        validation.check_name(token)
        while (ended := self._run(fencing.fence, host, token, force=force, replace=replace)) is None:
            pass
        return ended
