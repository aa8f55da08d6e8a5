# SPDX-License-Identifier: Apache-2.0
"""Saying no: reasons counted, and the typed errors that answers of the store become."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from rpcapi import errors
from rpcapi.model.claims import NOT_AUDITED, Answer, Verdict
from scheduler_svc.store.records import Intent, Prepared

MOST_TOLD = 32  # lost candidates that a record names
NO_HOSTS = "no host has reported in this partition"

# Why a candidate that a decision chose did not take the claim.
REASONS: Mapping[str, str] = {
    Verdict.FULL: "claimed by others meanwhile",
    Verdict.CONCURRENT: "claimed by others meanwhile",
    Verdict.STALE: "changed meanwhile",
    Verdict.GROUP: "server group policy",
    Verdict.CLOSED: NOT_AUDITED,
    Verdict.UNKNOWN: "gone meanwhile",
}

# What no new decision can mend: the attempt itself cannot be claimed for.
_BARRED: Mapping[str, type[errors.ClaimError]] = {
    Answer.ENDED: errors.ClaimEnded,
    Answer.CONFLICT: errors.ClaimConflict,
    Answer.CONFIRMED: errors.ClaimConflict,
    Answer.CLOSED: errors.ClaimClosed,
}


def no_valid_host(hosts: int, reasons: Mapping[str, int]) -> errors.NoValidHost:
    """Return the refusal, its reasons in the order in which they were found: "812 not enough VCPU, 88 ..."."""
    counted = [f"{count} {reason}" for reason, count in reasons.items() if count]
    return errors.NoValidHost(reason=", ".join(counted) if hosts and counted else NO_HOSTS, reasons=dict(reasons))


def raise_barred(prepared: Iterable[Prepared], partition: str) -> None:
    """Raise the typed ClaimError of the first attempt that no candidate could help, with where its claim is."""
    for one in prepared:
        kind = _BARRED.get(one.answer)
        if kind is not None:
            raise kind(
                consumer=one.consumer, attempt=one.attempt, why=str(one.answer), host=one.host, partition=partition
            )


def tried(intents: Sequence[Intent], prepared: Sequence[Prepared]) -> dict[str, Verdict]:
    """Return each candidate that the store tried and the last it said of it."""
    return {
        candidate.host: verdict
        for intent, one in zip(intents, prepared, strict=True)
        for candidate, verdict in zip(intent.candidates, one.verdicts, strict=False)
    }


def told(before: Mapping[str, Verdict], verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return the candidates that were lost ``before`` and now, the latest MOST_TOLD of them: for the record."""
    every = {**before, **{host: verdict for host, verdict in verdicts.items() if verdict in REASONS}}
    return dict(list(every.items())[-MOST_TOLD:])


def lost(verdicts: Mapping[str, Verdict]) -> dict[str, int]:
    """Count the candidates that were lost, by reason."""
    return dict(Counter(REASONS[verdict] for verdict in verdicts.values() if verdict in REASONS))
