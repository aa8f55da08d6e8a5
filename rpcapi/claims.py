# SPDX-License-Identifier: Apache-2.0
"""The claims of one partition as agents, conductors and operators see them."""

from typing import Any

from oslo_config import cfg

from rpcapi import objects
from rpcapi.client import ServiceClient
from rpcapi.context import RequestContext


def topic(partition: str) -> str:
    """Return the topic on which a partition's claims are served."""
    return f"claims.{partition}"


class ClaimsAPI(ServiceClient):
    """Client of the claims service, topic ``claims.<partition>``, served by that cell's scheduler daemons.

    1.0 - Initial version
    1.1 - Add fence_host
    """

    TOPIC = "claims"
    VERSION = "1.1"
    CAP = "claims"

    def __init__(self, conf: cfg.ConfigOpts, transport: Any, partition: str) -> None:
        super().__init__(conf, transport, topic(partition))

    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        """Prepare a claim on the first candidate that takes it, ending the attempt it replaces.

        Of each hundred consumers all are served, or none; one that could have been is answered "refused" too. One that
        nobody takes now is answered "closed" where a candidate is yet to be audited: it is worth asking again.
        """
        return self._call(ctxt, "1.0", "prepare_claims", intents=intents)

    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Confirm claims for the service host that will use them."""
        return self._call(ctxt, "1.0", "confirm_claims", host=host, refs=refs)

    def abort_claims(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, host: str | None = None
    ) -> objects.ClaimAnswers:
        """End prepared claims; a confirmed one stays and is answered "confirmed"."""
        return self._call(ctxt, "1.0", "abort_claims", refs=refs, host=host)

    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Give back claims whose instances are gone; fine for a claim that never was."""
        return self._call(ctxt, "1.0", "release_claims", host=host, refs=refs)

    def list_claims(
        self,
        ctxt: RequestContext,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> objects.ClaimPage:
        """Return live claims, of a host, of a consumer, or all, page by page."""
        values = {"host": host, "consumer": consumer, "marker": marker, "limit": limit}
        return self._call(ctxt, "1.0", "list_claims", **values)

    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        """Settle what the store holds with what runs on a host, and open it in this epoch; raises UnknownHost."""
        return self._call(ctxt, "1.0", "audit_host", report=report)

    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        """Recompute every sum from the claims and compare."""
        return self._call(ctxt, "1.0", "verify")

    def fence_host(self, ctxt: RequestContext, host: str) -> int:
        """End all claims of a service host that an operator knows to be off or cut off; raises UnknownHost.

        Returns how many ended. Nobody waits for that host any longer; its guests are lost.
        """
        return self._call(ctxt, "1.1", "fence_host", host=host)
