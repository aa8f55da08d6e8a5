# SPDX-License-Identifier: Apache-2.0
"""Answers of stores in a form in which those of several stores are equal."""

from dataclasses import replace
from typing import Any

from scheduler_svc.core.records import ClaimRef, IntentResult
from scheduler_svc.store.records import ReapResult


def timeless(claim: Any) -> Any:
    return replace(claim, created_ms=0, deadline_ms=claim.deadline_ms and 1, orphan_ms=claim.orphan_ms and 1)


def timeless_excess(excess: Any) -> list[Any]:
    return [{**item, "since_ms": 0} for item in excess]


def comparable(answer: Any) -> Any:
    """Return an answer without epochs, positions and times, which differ between stores."""
    if hasattr(answer, "prepared"):
        return (answer.accepted, answer.current, comparable(answer.prepared), answer.used)
    if isinstance(answer, ReapResult):
        return (answer.ended, answer.remains)
    if isinstance(answer, (list, tuple)) and not isinstance(answer, ClaimRef):
        return [comparable(item) for item in answer]
    if isinstance(answer, IntentResult):
        return replace(answer, deadline_ms=0, verdicts=tuple(answer.verdicts), alternates=tuple(answer.alternates))
    return answer
