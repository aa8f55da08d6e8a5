# SPDX-License-Identifier: Apache-2.0
"""Answers of the claims service that name another identity of a claim."""

from collections.abc import Sequence

from compute_agent.attempt import Attempt, AttemptRef
from rpcapi import objects
from rpcapi.resources.claim_identity import parse_identity


def moved_attempts(
    attempts: Sequence[Attempt], answers: objects.ClaimAnswers | objects.AuditAnswer
) -> list[tuple[Attempt, AttemptRef]]:
    """Return the attempts whose claim was moved, each with the identity that it has now."""
    if not answers.moved_to:
        return []
    rows = zip(answers.consumers, answers.attempts, answers.moved_to, strict=True)
    successors = {AttemptRef(consumer, number): identity for consumer, number, identity in rows if identity}
    return [
        (attempt, AttemptRef(*parse_identity(successors[attempt.ref])))
        for attempt in attempts
        if attempt.ref in successors
    ]
