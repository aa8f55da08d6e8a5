# SPDX-License-Identifier: Apache-2.0
"""Client of the claims service of one partition, for agents, conductors and operators."""

from collections.abc import Sequence
from typing import Any

from oslo_config import cfg

from rpcapi import objects
from rpcapi.clients.client import ServiceClient
from rpcapi.context import RequestContext


def topic(partition: str) -> str:
    """Return the topic of the claims service of a partition."""
    return f"claims.{partition}"


class ClaimsAPI(ServiceClient):
    """Client of the claims service, topic ``claims.<partition>``, served by that cell's scheduler daemons.

    The calls of an agent raise HostIdentityConflict if another state folder than ``host_uuid`` of their context owns
    the host's name.

    1.0 - Initial version
    1.1 - Add fence_host
    1.2 - fence_host: require token, add force
    1.3 - Add find_claims
    1.4 - Add vouch_for_claims
    1.5 - Add store_sizes
    1.6 - abort_claims: add destinations
    1.7 - prepare_claims: answer possible
    1.8 - Add move_claims
    1.9 - Add list_changes
    1.10 - Add list_prepared_claims
    1.11 - Replace move_claims by begin_moves and end_moves
    1.12 - fence_host: add replace
    """

    TOPIC = "claims"
    VERSION = "1.12"

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, partition: str) -> None:
        super().__init__(conf, transport, topic(partition))

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        """Prepare a claim on the first candidate that accepts it, and end the attempt that it replaces.

        All consumers get a claim, or none; when one is refused, those that could get one are answered "possible": retry
        without the others. A consumer that no candidate accepts is answered "closed" when a candidate has not been
        audited yet: retry then.
        """
        return self.call(ctxt, "1.7", "prepare_claims", intents=intents)

    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Confirm claims for the service host that will run the instances."""
        return self.call(ctxt, "1.0", "confirm_claims", host=host, refs=refs)

    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        """End prepared claims; a confirmed claim is kept and answered "confirmed".

        ``destinations`` has for each claim the only service host that may have got a build of its consumer: "" if none
        has, None if any may have. The default is ``host``, for all. An attempt that the store may have forgotten is
        "closed" while its destination must audit first. For None it is ended in all partitions, and answered
        "conflict" if a later attempt is live, with the partition if that is another one.
        """
        return self.call(ctxt, "1.6", "abort_claims", refs=refs, host=host, destinations=destinations)

    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Release the claims of deleted instances; releasing an unknown claim is allowed."""
        return self.call(ctxt, "1.0", "release_claims", host=host, refs=refs)

    def begin_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make confirmed claims the sources of migrations, one for each; no sum changes.

        A claim keeps its identity. "confirmed" is the answer to a repeated call too; "ended" means that the migration
        has ended, "conflict" that the claim or the migration belongs to another move. All other answers mean the same
        as in ``find_claims``. Without "confirmed" nothing was changed.
        """
        return self.call(ctxt, "1.11", "begin_moves", refs=refs, migrations=list(migrations))

    def end_moves(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: Sequence[str]
    ) -> objects.ClaimAnswers:
        """Make the sources of migrations the only claims of their instances again.

        "confirmed" is the answer to a repeated call too; "conflict" means that the destination, on the host in the
        answer, still has a claim, "ended" that the claim belongs to a later move. All other answers mean the same as in
        ``find_claims``, and no claim was changed.
        """
        return self.call(ctxt, "1.11", "end_moves", refs=refs, migrations=list(migrations))

    def find_claims(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Look up claims: the answer of each is its state, how it ended, or why that is not known.

        "conflict" with a host means that a later attempt is live there, such as the destination of a move whose source
        has ended; "closed" means that a host must audit first.
        """
        return self.call(ctxt, "1.3", "find_claims", refs=refs)

    def list_claims(
        self,
        ctxt: RequestContext,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> objects.ClaimPage:
        """Return one page of live claims: of a host, of a consumer, or all."""
        return self.call(ctxt, "1.0", "list_claims", host=host, consumer=consumer, marker=marker, limit=limit)

    def list_prepared_claims(self, ctxt: RequestContext, limit: int = 1000) -> objects.ClaimPage:
        """Return the prepared claims, those that expire first; there is no next page.

        Those past their deadline on a host that must audit first are not among them.
        """
        return self.call(ctxt, "1.10", "list_prepared_claims", limit=limit)

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        """Reconcile the claims of a host with what runs there, and open the host in this epoch; raises UnknownHost."""
        return self.call(ctxt, "1.0", "audit_host", report=report)

    def vouch_for_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Make unverified claims of a service host claims of their consumers, because records name these attempts.

        The answer of each is "confirmed", its end, "unknown" (it is not unverified there), or "conflict".
        """
        return self.call(ctxt, "1.4", "vouch_for_claims", host=host, refs=refs)

    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        """Recompute all sums from the claims and compare them with the stored ones."""
        return self.call(ctxt, "1.0", "verify")

    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        """Measure the collections of the partition's store."""
        return self.call(ctxt, "1.5", "store_sizes")

    def list_changes(
        self, ctxt: RequestContext, epoch: int, position: int, kinds: Sequence[str] | None = None, limit: int = 1000
    ) -> objects.ChangePage:
        """Return the changes of host state in the next ``limit`` entries of the log after ``position`` of ``epoch``.

        ``kinds`` are those of docs/host-state.md; None: all but "used". The page begins anew with a change of kind
        "resync" if the log no longer has what followed ``position``. Raises InvalidRequest.
        """
        return self.call(
            ctxt,
            "1.9",
            "list_changes",
            epoch=epoch,
            position=position,
            kinds=None if kinds is None else list(kinds),
            limit=limit,
        )

    def fence_host(
        self, ctxt: RequestContext, host: str, token: str, *, force: bool = False, replace: bool = False
    ) -> int:
        """End all claims of a service host that an operator declares powered off or isolated.

        Returns the number of ended claims. The audit of that host is no longer awaited; its guests are lost.
        ``token`` is chosen by the caller for each fence: a repeated call with it returns what the first one did and
        ends nothing. Raises UnknownHost, and HostIsUp for a host that sends heartbeats, unless ``force``.
        ``replace``: the machine is gone for good, and the agent of another state folder may register as the host.
        """
        return self.call(ctxt, "1.12", "fence_host", host=host, token=token, force=force, replace=replace)
