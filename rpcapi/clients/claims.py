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

    An agent's calls raise HostIdentityConflict if its host name is registered with a different ``host_uuid``.
    """

    TOPIC = "claims"
    VERSION = "1.0"

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, partition: str) -> None:
        super().__init__(conf, transport, topic(partition))

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        """Claim the first accepting candidate for each consumer, all or none; end the replaced attempts.

        If a consumer is refused, retry with those answered "possible" only. "closed": no candidate accepts the consumer
        before one of them has audited.
        """
        return self.call(ctxt, "1.0", "prepare_claims", intents=intents)

    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Confirm claims for ``host``, the service host that will run the instances."""
        return self.call(ctxt, "1.0", "confirm_claims", host=host, refs=refs)

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        """End prepared claims; a confirmed claim stays and is answered "confirmed".

        ``destinations``: For each claim, the only service host that may have a build request; "" for none, None for
        any. Default: ``host``. "closed": the store may have lost the attempt, and the destination must audit first.
        None ends the attempt in all partitions; "conflict" then names the partition of a later live attempt.
        """
        return self.call(ctxt, "1.0", "abort_claims", refs=refs, host=host, destinations=destinations)

    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Release the claims of deleted instances; unknown claims are no error."""
        return self.call(ctxt, "1.0", "release_claims", host=host, refs=refs)

    def begin_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make each confirmed claim the source of its migration; identity and usage stay. Idempotent.

        Answers: "confirmed" on success, or without a change: "ended" if the migration has ended; "conflict" if the
        claim or the migration belongs to a different move; otherwise as in ``find_claims``.
        """
        return self.call(ctxt, "1.0", "begin_moves", refs=refs, migrations=list(migrations))

    def end_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make the source claims of migrations the only claims of their instances again. Idempotent.

        Answers: "confirmed" on success, or without a change: "conflict" if the destination has a claim, on the answer's
        host; "ended" if the claim belongs to a later move; otherwise as in ``find_claims``.
        """
        return self.call(ctxt, "1.0", "end_moves", refs=refs, migrations=list(migrations))

    def find_claims(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Look up claims. Each answer is a state, an end, or the reason why neither is known.

        "conflict": a later attempt is live on the answer's host. "closed": a host must audit first.
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
        """Return a page of the live claims of a host, a consumer, or all."""
        return self.call(ctxt, "1.0", "list_claims", host=host, consumer=consumer, marker=marker, limit=limit)

    def list_prepared_claims(self, ctxt: RequestContext, limit: int = 1000) -> objects.ClaimPage:
        """Return the ``limit`` prepared claims that expire first, without parked claims."""
        return self.call(ctxt, "1.0", "list_prepared_claims", limit=limit)

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        """Reconcile a host's claims with its guests and open the host in this epoch; raises UnknownHost."""
        return self.call(ctxt, "1.0", "audit_host", report=report)

    def vouch_for_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Verify a service host's unverified claims, because conductor records name their attempts.

        Answers: "confirmed", the claim's end, "unknown" (not unverified on that host), or "conflict".
        """
        return self.call(ctxt, "1.0", "vouch_for_claims", host=host, refs=refs)

    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        """Recompute all usage from the claims and compare it with the stored sums."""
        return self.call(ctxt, "1.0", "verify")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return self.call(ctxt, "1.0", "store_sizes")

    def list_changes(
        self, ctxt: RequestContext, epoch: int, position: int, kinds: Sequence[str] | None = None, limit: int = 1000
    ) -> objects.ChangePage:
        """Return the host state changes in ``limit`` log entries after a log position; raises InvalidRequest.

        ``kinds`` (docs/host-state.md) excludes "used" by default. A truncated log begins with kind "resync".
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
        """End all claims of a host that an operator declares powered off or isolated; return their number.

        The host's guests are lost and its audit is no longer awaited. A repeated ``token`` returns the first result.
        ``force`` fences a host that still sends heartbeats. ``replace`` lets an agent with a different state folder
        register under the name. Raises UnknownHost or HostIsUp.
        """
        return self.call(ctxt, "1.0", "fence_host", host=host, token=token, force=force, replace=replace)
