# SPDX-License-Identifier: Apache-2.0
"""Step: end what an instance holds, when it is deleted or could not be placed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from conductor.saga import claims
from conductor.saga.transitions import finish, proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Status, Step
from rpcapi.model.claims import Answer


def abort(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """A prepared claim ends here; a confirmed one is its host's, which is told to stop what runs under it."""
    changed = []
    for partition in {each.partition for each in instances}:
        group = [each for each in instances if each.partition == partition]
        answers = claims.abort(turn, group, following=True)
        if answers is None:
            changed += [turn.later(each, "the claims gave no answer") for each in group]
        else:
            changed += [_judged(turn, each, answers) for each in group]
    return changed


def _judged(turn: Turn, instance: Instance, answers: Mapping[tuple[str, int], claims.Told]) -> Instance:
    for attempt in (instance.attempt, instance.attempt + 1):
        answer, host, *_ = answers[instance.uuid, attempt]
        if answer == Answer.CONFIRMED and host is not None:
            # Tries go on being counted: a host that keeps silent is told with growing pauses.
            return proceed(instance, Step.TERMINATE, attempt=attempt, host=host, tries=instance.tries)
        if answer not in claims.OVER:
            return turn.later(instance, answer)
    return over(instance)


def over(instance: Instance) -> Instance:
    """Return it as it is when it holds nothing any more and is not to be built."""
    if instance.status == Status.DELETING:
        return finish(replace(instance, reason=None), Status.DELETED)
    return finish(instance, instance.status)
