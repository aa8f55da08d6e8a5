# SPDX-License-Identifier: Apache-2.0
"""Rows of the claims service's answers."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conductor.collaborators import ServiceClients
from rpcapi import objects
from rpcapi.context import RequestContext

CLAIMS_PER_CALL = 500


class ClaimAnswerRow(NamedTuple):
    """Answer for one claim.

    Attributes:
        partition: Partition that answered, unless it is the called one.
        migration: Migration of a source or destination claim; None for other claims.
        end: How the attempt ended; set if a later attempt is live.
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
        return self.end or self.answer


COLUMNS = ("answers", "hosts", "reasons", "allocations", "partitions", "migrations", "ends")


def results_by_claim(answers: objects.ClaimAnswers) -> dict[tuple[str, int], ClaimAnswerRow]:
    rows = answers.rows("consumers", "attempts", *COLUMNS)
    return {(consumer, attempt): ClaimAnswerRow(*row) for consumer, attempt, *row in rows}


def find(
    ctxt: RequestContext, clients: ServiceClients, partition: str | None, refs: Sequence[tuple[str, int]]
) -> list[ClaimAnswerRow]:
    """Return the answers for (consumer, attempt) pairs, in order. Raises the errors of ``find_claims``."""
    rows: list[ClaimAnswerRow] = []
    for start in range(0, len(refs), CLAIMS_PER_CALL):
        consumers, attempts = zip(*refs[start : start + CLAIMS_PER_CALL], strict=True)
        claim_refs = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
        answers = clients.claims_of(partition).find_claims(ctxt, claim_refs)
        rows += [ClaimAnswerRow(*row) for row in answers.rows(*COLUMNS)]
    return rows
