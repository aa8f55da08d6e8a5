# SPDX-License-Identifier: Apache-2.0
"""Answers of the claims service, claim by claim."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conductor.service_clients import ServiceClients
from rpcapi import objects
from rpcapi.context import RequestContext

MAX_REFS = 500  # maximum claims of one call


class ClaimAnswerRow(NamedTuple):
    """The answer for one claim; ``partition`` is set where another partition than the called one gave it.

    ``migration`` is set for the source or destination of a move, ``end`` if a later attempt is live.
    """

    answer: str
    host: str | None
    reason: str
    allocations: Mapping[str, Mapping[str, int]] | None = None
    partition: str | None = None
    migration: str | None = None
    end: str | None = None

    @property
    def state(self) -> str:
        """The state of the claim, or how it ended."""
        return self.end or self.answer


COLUMNS = ("answers", "hosts", "reasons", "allocations", "partitions", "migrations", "ends")


def results_by_claim(answers: objects.ClaimAnswers) -> dict[tuple[str, int], ClaimAnswerRow]:
    """Return the answers by (consumer, attempt)."""
    rows = answers.rows("consumers", "attempts", *COLUMNS)
    return {(consumer, attempt): ClaimAnswerRow(*row) for consumer, attempt, *row in rows}


def find(
    ctxt: RequestContext, clients: ServiceClients, partition: str | None, refs: Sequence[tuple[str, int]]
) -> list[ClaimAnswerRow]:
    """Return the answers about claims, (consumer, attempt), in order; raises what ``find_claims`` raises."""
    rows: list[ClaimAnswerRow] = []
    for start in range(0, len(refs), MAX_REFS):
        consumers, attempts = zip(*refs[start : start + MAX_REFS], strict=True)
        claim_refs = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
        answers = clients.claims_of(partition).find_claims(ctxt, claim_refs)
        rows += [ClaimAnswerRow(*row) for row in answers.rows(*COLUMNS)]
    return rows
