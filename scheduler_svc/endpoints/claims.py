# SPDX-License-Identifier: Apache-2.0
"""Endpoint of topic ``claims.<partition>``, for claims after their selection."""

from collections.abc import Callable, Sequence

import oslo_messaging as messaging
from oslo_log import log

from rpcapi import errors, objects
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from rpcapi.resources.claims import Answer
from rpcapi.validation.instances import canonical_uuid
from scheduler_svc import metrics
from scheduler_svc.core.records import Claim, ClaimBatch, ClaimResult, IntentResult
from scheduler_svc.endpoints import decode, encode
from scheduler_svc.endpoints.metered import MeteredEndpoint
from scheduler_svc.host_state.stamps import StampSigner
from scheduler_svc.notifications import changes
from scheduler_svc.scheduling.alternates import AlternateClaimer
from scheduler_svc.scheduling.earlier_attempts import EarlierAttempts
from scheduler_svc.store import validation
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)


UnverifiedHandler = Callable[[str, str, Sequence[ClaimResult]], None]  # (partition, service host, claims)


class ClaimsEndpoint(MeteredEndpoint):
    """Server side of rpcapi.clients.claims.ClaimsAPI, which documents the methods."""

    target = messaging.Target(version=ClaimsAPI.VERSION)

    def __init__(
        self,
        store: Store,
        alternates: AlternateClaimer,
        ttl_ms: int,
        grace_ms: Callable[[], int],
        *,
        on_unverified: UnverifiedHandler,
        stamps: StampSigner,
        earlier_attempts: EarlierAttempts,
    ) -> None:
        self._store = store
        self._alternates = alternates
        self._ttl_ms = ttl_ms
        self._grace_ms = grace_ms
        self._on_unverified = on_unverified
        self._stamps = stamps
        self._earlier_attempts = earlier_attempts

    @expose
    def prepare_claims(self, ctxt: RequestContext, intents: objects.ClaimIntents) -> objects.ClaimAnswers:
        request = decode.request(ctxt, intents.spec)
        batch = ClaimBatch(
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
            fresh=intents.fresh,
        )
        prepared_batch = self._alternates.prepare(ctxt, request, batch)
        _count("prepare", prepared_batch.answer.prepared)
        return encode.prepare_answers(prepared_batch)

    @expose
    def confirm_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        answers = self._store.confirm(host, decode.refs(refs), host_uuid=ctxt.host_uuid or "")
        return _answer("confirm", answers, Answer.CONFIRMED)

    @expose
    def abort_claims(
        self,
        ctxt: RequestContext,
        refs: objects.ClaimRefs,
        host: str | None = None,
        destinations: list[str | None] | None = None,
    ) -> objects.ClaimAnswers:
        claim_refs = decode.refs(refs)
        caller = None if host is None else ctxt.host_uuid or ""
        answers = self._store.abort(claim_refs, host, destinations, host_uuid=caller)
        if host is None:
            answers = self._earlier_attempts.abort(self._store.partition, claim_refs, answers, destinations)
        return _answer("abort", answers, Answer.ABORTED)

    @expose
    def release_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        answers = self._store.release(host, decode.refs(refs), host_uuid=ctxt.host_uuid or "")
        return _answer("release", answers, Answer.RELEASED)

    @expose
    def begin_moves(self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: list[str]) -> objects.ClaimAnswers:
        return _answer("begin_move", self._store.begin_moves(decode.refs(refs), migrations), Answer.CONFIRMED)

    @expose
    def end_moves(self, ctxt: RequestContext, refs: objects.ClaimRefs, migrations: list[str]) -> objects.ClaimAnswers:
        return _answer("end_move", self._store.end_moves(decode.refs(refs), migrations), Answer.CONFIRMED)

    @expose
    def find_claims(self, ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        return encode.claim_answers(self._store.find(decode.refs(refs)), Answer.CONFIRMED)

    @expose
    def vouch_for_claims(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        return _answer("vouch", self._store.vouch(host, decode.refs(refs)), Answer.CONFIRMED)

    @expose
    def list_claims(
        self,
        ctxt: RequestContext,
        host: str | None = None,
        consumer: str | None = None,
        marker: str | None = None,
        limit: int = 1000,
    ) -> objects.ClaimPage:
        uuid = None if consumer is None else canonical_uuid(consumer)
        page_claims, next_marker = self._store.claims(host=host, consumer=uuid, marker=marker, limit=limit)
        return self._claim_page(page_claims, next_marker)

    @expose
    def list_prepared_claims(self, ctxt: RequestContext, limit: int = 1000) -> objects.ClaimPage:
        return self._claim_page(self._store.prepared_claims(limit), None)

    def _claim_page(self, claims: Sequence[Claim], marker: str | None) -> objects.ClaimPage:
        lead_ms = self._store.clock_lead()
        return objects.ClaimPage.of(claims=[encode.claim(claim, lead_ms) for claim in claims], marker=marker)

    @expose
    def audit_host(self, ctxt: RequestContext, report: objects.AuditReport) -> objects.AuditAnswer:
        running = decode.running(report)
        partition = self._store.partition
        proof = self._stamps.verify(partition, report.host, report.stamp)
        if proof is not None:
            self._store.begin_epoch_if_behind(*proof)
        outcome = self._store.audit(
            report.host, report.epoch, running, self._grace_ms(), host_uuid=ctxt.host_uuid or ""
        )
        _count("audit", outcome.answers)
        unverified = [result for result in outcome.answers if result.answer is Answer.UNVERIFIED]
        if unverified:
            self._on_unverified(partition, report.host, unverified)
        has_position = outcome.position > 0
        stamp = self._stamps.sign(partition, report.host, outcome.epoch, outcome.position) if has_position else None
        return encode.audit_answer(outcome, stamp)

    @expose
    def verify(self, ctxt: RequestContext) -> objects.VerifyReport:
        return encode.verify_report(self._store.partition, self._store.verify())

    @expose
    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return objects.StoreSizes.of_sizes(self._store.sizes())

    @expose
    def list_changes(
        self, ctxt: RequestContext, epoch: int, position: int, kinds: list[str] | None = None, limit: int = 1000
    ) -> objects.ChangePage:
        validation.check_number("epoch", epoch, 0, validation.MAX_NUMBER)
        validation.check_number("position", position, 0, validation.MAX_NUMBER)
        validation.check_page(limit)
        kinds = list(changes.DEFAULT_KINDS) if kinds is None else kinds
        if not all(kind in changes.KINDS for kind in kinds):
            raise errors.InvalidRequest(
                why=f"kinds must be a list of {', '.join(changes.KINDS)}, got {repr(kinds)[:80]}"
            )
        return encode.change_page(changes.read(self._store, epoch, position, kinds, limit))

    @expose
    def fence_host(
        self, ctxt: RequestContext, host: str, token: str, force: bool = False, replace: bool = False
    ) -> int:
        ended = self._store.fence(host, token, force=force, replace=replace)
        metrics.CLAIMS.labels(verb="fence", answer=Answer.FENCED).inc(ended)
        LOG.warning("Host %s fenced by %s: %d claims ended", host, ctxt.sender or ctxt.user_id or "an operator", ended)
        return ended


def _answer(verb: str, answers: Sequence[ClaimResult], success: Answer) -> objects.ClaimAnswers:
    _count(verb, answers)
    return encode.claim_answers(answers, success)


def _count(verb: str, answers: Sequence[ClaimResult] | Sequence[IntentResult]) -> None:
    for answer in answers:
        metrics.CLAIMS.labels(verb=verb, answer=answer.answer).inc()
