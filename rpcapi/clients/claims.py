# SPDX-License-Identifier: Apache-2.0
"""Client of a partition's claims service, for agents, conductors and operators."""

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext


def topic(partition: str) -> str:
    return f"claims.{partition}"


class ClaimsAPI(ServiceClient):
    """Client of the claims service, topic ``claims.<partition>``, served by the partition's scheduler daemons.

    Calls from an agent raise HostIdentityConflict if the host name belongs to a state folder other than the context's
    ``host_uuid``.

    1.0 - Initial version
    """

    TOPIC = "claims"
    VERSION = "1.0"

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, partition: str) -> None:
        super().__init__(conf, transport, topic(partition))

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        """Claim the first accepting candidate for each consumer, for all consumers or none; end the replaced attempts.

        If one consumer is refused, the answer for each consumer that could be served is "possible": retry with those
        only. "closed" means that no candidate accepts the consumer now and one has not been audited: retry later.
        """
        return self.call(ctxt, "1.0", "prepare_claims", intents=intents)

    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Confirm claims on behalf of ``host``, the service host that will run the instances."""
        return self.call(ctxt, "1.0", "confirm_claims", host=host, refs=refs)

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        """End prepared claims; a confirmed claim is kept and answered "confirmed".

        ``destinations`` names, per claim, the only service host that may have received a build request: "" for none,
        None for any host. By default it is ``host`` for all claims.

        If the store may have forgotten an attempt, the answer is "closed" until its destination has audited. If the
        destination is None, the attempt ends in all partitions; "conflict" then means that a later attempt is live, in
        the partition of the answer if it differs.
        """
        return self.call(ctxt, "1.0", "abort_claims", refs=refs, host=host, destinations=destinations)

    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Release the claims of deleted instances; an unknown claim is no error."""
        return self.call(ctxt, "1.0", "release_claims", host=host, refs=refs)

    def begin_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make each confirmed claim the source of its migration; identities and usage do not change. Idempotent.

        Answers: "confirmed" on success; "ended" if the migration has ended; "conflict" if the claim or the migration
        belongs to another move; otherwise as in ``find_claims``. Nothing changes without "confirmed".
        """
        return self.call(ctxt, "1.0", "begin_moves", refs=refs, migrations=list(migrations))

    def end_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make the source claims of migrations the only claims of their instances again. Idempotent.

        Answers: "confirmed" on success; "conflict" if the destination still has a claim, on the host in the answer;
        "ended" if the claim belongs to a later move; otherwise as in ``find_claims``. Without "confirmed" nothing
        changes.
        """
        return self.call(ctxt, "1.0", "end_moves", refs=refs, migrations=list(migrations))

    def find_claims(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Look up claims. Each answer is a state, an end, or the reason why neither is known.

        "conflict" with a host: a later attempt is live there, for example the destination of a move whose source has
        ended. "closed": a host must audit first.
        """
        return self.call(ctxt, "1.0", "find_claims", refs=refs)

    def list_claims(
        self,
        ctxt: RequestContext,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> objects.ClaimPage:
        """Return one page of live claims, optionally filtered by host or consumer."""
        return self.call(ctxt, "1.0", "list_claims", host=host, consumer=consumer, marker=marker, limit=limit)

    def list_prepared_claims(self, ctxt: RequestContext, limit: int = 1000) -> objects.ClaimPage:
        """Return the prepared claims that expire first, in one page; without overdue claims whose host must audit."""
        return self.call(ctxt, "1.0", "list_prepared_claims", limit=limit)

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        """Reconcile a host's claims with its guests and open the host in this epoch; raises UnknownHost."""
        return self.call(ctxt, "1.0", "audit_host", report=report)

    def vouch_for_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Verify unverified claims of a service host because conductor records name their attempts.

        Answers: "confirmed", the claim's end, "unknown" (not unverified on that host), or "conflict".
        """
        return self.call(ctxt, "1.0", "vouch_for_claims", host=host, refs=refs)

    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        """Recompute all usage from the claims and compare it with the stored sums."""
        return self.call(ctxt, "1.0", "verify")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        """Return the sizes of the collections of the partition's store."""
        return self.call(ctxt, "1.0", "store_sizes")

    def list_changes(
        self, ctxt: RequestContext, epoch: int, position: int, kinds: Sequence[str] | None = None, limit: int = 1000
    ) -> objects.ChangePage:
        """Return host state changes in ``limit`` log entries after ``position`` of ``epoch``; raises InvalidRequest.

        ``kinds`` are listed in docs/host-state.md; None means all but "used". If the log no longer reaches back to
        ``position``, the page starts over with a change of kind "resync".
        """
        return self.call(
            ctxt,
            "1.0",
            "list_changes",
            epoch=epoch,
            position=position,
            kinds=None if kinds is None else list(kinds),
            limit=limit,
        )

    def fence_host(
        self, ctxt: RequestContext, host: str, token: str, *, force: bool = False, replace: bool = False
    ) -> int:
        """End all claims of a service host that an operator declares powered off or isolated; return their number.

        The host's audit is no longer awaited, and its guests are lost. ``token`` makes the call idempotent: a repeated
        call with the same token returns the first result and ends nothing.

        ``force`` fences a host that still sends heartbeats. ``replace`` declares its machine gone for good: an agent
        with another state folder may register under the host name.

        Raises UnknownHost (no such service host) or HostIsUp (the host sends heartbeats, and ``force`` is not set).
        """
        return self.call(ctxt, "1.0", "fence_host", host=host, token=token, force=force, replace=replace)
