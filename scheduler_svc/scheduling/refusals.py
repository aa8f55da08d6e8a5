# SPDX-License-Identifier: Apache-2.0
"""Refusals: counts of their reasons, and errors for the store's answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rpcapi import errors
from rpcapi.resources import transient
from rpcapi.resources.claims import Answer, Verdict
from rpcapi.resources.trees.search import NoCandidateReason
from scheduler_svc import metrics
from scheduler_svc.core.records import Intent, IntentResult
from scheduler_svc.core.request import SchedulingRequest

MAX_LOST_CANDIDATES = 32  # per decision record
MAX_COUNTED_REASONS = 200  # label values of the metric
OTHER_REASON = "other"
NO_HOSTS = "no host has reported in this partition"

REASONS: Mapping[str, str] = {
    Verdict.FULL: "full",
    Verdict.CONCURRENT: transient.CLAIMED_MEANWHILE,
    Verdict.STALE: transient.CHANGED_MEANWHILE,
    Verdict.LIMIT: transient.CLAIMED_MEANWHILE,
    Verdict.GROUP: transient.CLAIMED_MEANWHILE,
    Verdict.CLOSED: transient.NOT_AUDITED,
    Verdict.UNKNOWN: "gone meanwhile",
}

# Errors of the answers that refuse the attempt itself: no retry can change them.
_FINAL_ANSWERS: Mapping[Answer, type[errors.ClaimError]] = {
    Answer.ENDED: errors.ClaimEnded,
    Answer.CONFLICT: errors.ClaimConflict,
    Answer.CONFIRMED: errors.ClaimConflict,
    Answer.CLOSED: errors.ClaimClosed,
}

_counted_reasons: set[str] = set()


def no_valid_host(reasons: Mapping[str, int]) -> errors.NoValidHost:
    """Return the error with a message such as "812 not enough VCPU, 88 ..."."""
    reason_texts = [f"{count} {reason}" for reason, count in reasons.items() if count]
    return errors.NoValidHost(reason=", ".join(reason_texts) or NO_HOSTS, reasons=dict(reasons))


def with_state_age(error: errors.NoValidHost, request: SchedulingRequest) -> errors.NoValidHost:
    """Add the age of outdated host state to a refusal."""
    age_s = request.decision.host_state_age_s
    if not age_s:
        return error
    reason = f"{error.reason}; the state of hosts is {age_s:.0f} s old"
    return errors.NoValidHost(reason=reason, reasons=error.reasons)


def count(error: errors.NoValidHost) -> None:
    """Count a refusal by each rejecting reason; labels are limited, since plugins choose their reasons freely."""
    for reason in error.reasons:
        if reason == NoCandidateReason.UNDECIDED:
            continue
        if reason not in _counted_reasons and len(_counted_reasons) < MAX_COUNTED_REASONS:
            _counted_reasons.add(reason)
        metrics.REFUSALS.labels(reason=reason if reason in _counted_reasons else OTHER_REASON).inc()


def claim_error(prepared: Iterable[IntentResult], partition: str) -> errors.ClaimError | None:
    """Return the error of the first attempt that the store refused for good, or None."""
    for result in prepared:
        if result.answer in _FINAL_ANSWERS:
            return _FINAL_ANSWERS[result.answer](
                consumer=result.consumer,
                attempt=result.attempt,
                why=str(result.answer),
                host=result.host,
                partition=partition,
            )
    return None


def last_verdicts(
    intents: Sequence[Intent], prepared: Sequence[IntentResult], *, is_affinity: bool = False
) -> dict[str, Verdict]:
    """Return the last verdict on each candidate, without GROUP if another instance of the call caused it.

    An instance that fits prevents others on its host, or with affinity, on all other hosts. Members of other calls are
    a lost race, because the ranking excluded the hosts that its members exclude.
    """
    verdicts: dict[str, Verdict] = {}
    fitting: set[str] = set()  # hosts of earlier instances
    for intent, result in zip(intents, prepared, strict=True):
        for candidate, verdict in zip(intent.candidates, result.verdicts, strict=False):
            if verdict is not Verdict.GROUP or not (fitting if is_affinity else candidate.host in fitting):
                verdicts[candidate.host] = verdict
            if verdict is Verdict.FITS:
                fitting.add(candidate.host)
    return verdicts


def merge_lost_candidates(earlier: Mapping[str, Verdict], verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    candidates = {**earlier, **{host: verdict for host, verdict in verdicts.items() if verdict in REASONS}}
    return dict(list(candidates.items())[-MAX_LOST_CANDIDATES:])


def count_lost_candidates(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    return dict(Counter(REASONS[verdict] for verdict in verdicts.values() if verdict in REASONS))
