# SPDX-License-Identifier: Apache-2.0
"""Topic ``claims.<partition>``: claims after the decision."""

from collections.abc import Callable, Sequence

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import objects
from rpcapi.claims import ClaimsAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import exposed
from rpcapi.model.claims import Answer
from scheduler_svc import metrics
from scheduler_svc.deciding.alternates import Alternates
from scheduler_svc.endpoints import bounds, decode, encode
from scheduler_svc.endpoints.observed import Observed
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Batch, Ended, Prepared

LOG = log.getLogger(__name__)


class ClaimsEndpoint(Observed):
    """What rpcapi.claims.ClaimsAPI calls; its docstrings say what each method does and raises."""

    target = messaging.Target(version=ClaimsAPI.VERSION)

    def __init__(self, store: Store, alternates: Alternates, ttl_ms: int, grace_ms: Callable[[], int]) -> None:
        self._store = store
        self._alternates = alternates
        self._ttl_ms = ttl_ms
        self._grace_ms = grace_ms

    @exposed
    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        """Claim on the first candidate that takes it, in place of an earlier attempt."""
        request = decode.request(ctxt, intents.spec)
        batch = Batch(
            request_id=request.id,
            project=ctxt.project_id or "",
            user=ctxt.user_id or "",
            resources=request.resources,
            intents=decode.intents(intents),
            epoch=intents.epoch,
            position=intents.position,
            ttl_ms=self._ttl_ms,
            consumer_type=intents.spec.consumer_type,
            group=request.group,
        )
        served = self._alternates.prepare(ctxt, request, batch)
        for asked in served:
            _count("prepare", asked.answer.prepared)
        return encode.prepared(served)

    @exposed
    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Confirm claims for their host."""
        answers = self._store.confirm(host, decode.refs(refs))
        _count("confirm", answers)
        return encode.ended(answers, Answer.CONFIRMED)

    @exposed
    def abort_claims(
        self, ctxt: RequestContext, refs: objects.ClaimRefs, host: str | None = None
    ) -> objects.ClaimAnswers:
        """End prepared claims."""
        answers = self._store.abort(decode.refs(refs), host)
        _count("abort", answers)
        return encode.ended(answers, Answer.ABORTED)

    @exposed
    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        """Give back claims whose instances are gone."""
        answers = self._store.release(host, decode.refs(refs))
        _count("release", answers)
        return encode.ended(answers, Answer.RELEASED)

    @exposed
    def list_claims(
        self,
        ctxt: RequestContext,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> objects.ClaimPage:
        """Return a page of live claims."""
        bounds.check_page(marker, limit)
        found, following = self._store.claims(host=host, consumer=consumer, marker=marker, limit=limit)
        return objects.ClaimPage.of(claims=[encode.claim(claim) for claim in found], marker=following)

    @exposed
    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        """Settle with what runs on a host, and open it in this epoch."""
        running = decode.running(report)
        outcome = self._store.audit(report.host, report.epoch, running, self._grace_ms())
        _count("audit", outcome.answers)
        return encode.audited(outcome)

    @exposed
    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        """Recompute every sum from the claims and compare."""
        return encode.verified(self._store.partition, self._store.verify())

    @exposed
    def fence_host(self, ctxt: RequestContext, host: str) -> int:
        """End all claims of a host that is off or cut off."""
        ended = self._store.fence(host)
        metrics.CLAIMS.labels(verb="fence", answer=Answer.RELEASED).inc(ended)
        LOG.warning("Host %s was fenced by %s: %d claims ended", host, ctxt.user_id or "an operator", ended)
        return ended


def _count(verb: str, answers: Sequence[Ended] | Sequence[Prepared]) -> None:
    for one in answers:
        metrics.CLAIMS.labels(verb=verb, answer=one.answer).inc()
