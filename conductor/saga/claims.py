# SPDX-License-Identifier: Apache-2.0
"""Asking the claims of a partition, for many instances at once."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oslo_log import log

from conductor.peers import UNANSWERED, sentence
from conductor.saga.turn import Turn
from conductor.store.records import Instance
from rpcapi import errors, objects
from rpcapi.model.claims import Answer

LOG = log.getLogger(__name__)

INTENTS = 100  # claims that one call may prepare: what the store serves in one script
REFS = 500  # claims that one call may end

# The attempt holds nothing any more, and never will: an attempt that was unknown has its tombstone now.
OVER = (Answer.ABORTED, Answer.EXPIRED, Answer.RELEASED, Answer.ENDED, Answer.UNKNOWN)


class Told(NamedTuple):
    """What was answered for one claim."""

    answer: str
    host: str | None
    reason: str
    allocations: Mapping[str, Mapping[str, int]] | None = None


def told(answers: objects.ClaimAnswers) -> dict[tuple[str, int], Told]:
    """Return the answers by the claim's identity."""
    allocations = answers.allocations or [None] * len(answers.answers)
    rows = zip(answers.answers, answers.hosts, answers.reasons, allocations, strict=True)
    identities = zip(answers.consumers, answers.attempts, strict=True)
    return {identity: Told(*row) for identity, row in zip(identities, rows, strict=True)}


def abort(turn: Turn, instances: Sequence[Instance], *, following: bool = False) -> dict[tuple[str, int], Told] | None:
    """Abort the present attempt of each instance; None where nobody gave an answer.

    ``following`` aborts the next attempt too: it may have been prepared by a conductor that could not record it.
    All instances must be of one partition.
    """
    ahead = (0, 1) if following else (0,)
    refs = [(each.uuid, each.attempt + more) for each in instances for more in ahead]
    client = turn.peers.claims_of(instances[0].partition)
    answers: dict[tuple[str, int], Told] = {}
    try:
        for start in range(0, len(refs), REFS):
            consumers, attempts = zip(*refs[start : start + REFS], strict=True)
            given = objects.ClaimRefs.of(consumers=list(consumers), attempts=list(attempts))
            answers.update(told(client.abort_claims(turn.context(), given)))
    except (*UNANSWERED, errors.GanttError) as error:
        LOG.warning("Aborting %d claims got no answer: %s", len(refs), sentence(error))
        return None
    return answers
