# SPDX-License-Identifier: Apache-2.0
"""Step: ask the scheduler, once for all instances of the request, for hosts and claims on them."""

from collections.abc import Sequence
from dataclasses import replace

from oslo_log import log

from conductor.peers import UNANSWERED, sentence
from conductor.saga import claims
from conductor.saga.transitions import placed, proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Status, Step
from rpcapi import errors, objects
from rpcapi.model.claims import NOT_AUDITED, PARTITION_AWAY, Answer

LOG = log.getLogger(__name__)


def select(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Repeating it is harmless: the store of claims answers what it answered before.

    So a claim that this conductor never heard of is found again, or aborted, but not leaked.
    """
    attempt = max(each.attempt for each in instances)
    try:
        found = turn.peers.scheduler.select_destinations(
            turn.context(),
            turn.spec,
            [each.uuid for each in instances],
            attempt=attempt,
            alternates=turn.limits.max_attempts - 1,
        )
    except (errors.ClaimClosed, *UNANSWERED) as error:
        LOG.warning("Selecting hosts for %d instances got no answer: %s", len(instances), sentence(error))
        return [_wait_or_fail(turn, each, error) for each in instances]
    except errors.NoValidHost as error:
        return [_refused(turn, each, error) for each in instances]
    except errors.ClaimConflict as error:
        return [_parted(turn, each, error) for each in instances]
    except errors.ClaimError as error:
        located = [replace(each, attempt=attempt, partition=_partition(turn, error)) for each in instances]
        return _again(turn, located, error)
    except errors.GanttError as error:
        return [_failed(each, sentence(error)) for each in instances]
    return [_placed(each, found, index) for index, each in enumerate(instances)]


def _placed(instance: Instance, found: objects.Selections, index: int) -> Instance:
    return placed(
        instance,
        found.attempt,
        found.host(index),
        found.alternates_of(index),
        allocations=found.allocations_of(index),
        partition=found.partition,
        epoch=found.epoch,
        position=found.position,
    )


def _failed(instance: Instance, reason: str) -> Instance:
    # The abort leaves a tombstone: a select that is still on its way somewhere can claim nothing any more.
    return proceed(instance, Step.ABORT, status=Status.ERROR, reason=reason)


def _wait_or_fail(turn: Turn, instance: Instance, error: Exception) -> Instance:
    if _has_time(turn, instance):
        return turn.later(instance, error)
    waited_s = (turn.now_ms - instance.created_ms) / 1000
    return _failed(instance, f"The scheduler gave no answer for {waited_s:.0f} s: {sentence(error)}")


def _refused(turn: Turn, instance: Instance, error: errors.NoValidHost) -> Instance:
    """Ask again where hosts live that take nothing before their audit, or until their partition's store is back."""
    reasons = error.kwargs.get("reasons") or {}
    passing = reasons.get(NOT_AUDITED) or reasons.get(PARTITION_AWAY)
    if passing and _has_time(turn, instance):
        return turn.later(instance, error)
    return _failed(instance, sentence(error))


def _has_time(turn: Turn, instance: Instance) -> bool:
    return turn.now_ms - instance.created_ms < turn.limits.select_timeout_ms


def _parted(turn: Turn, instance: Instance, error: errors.ClaimConflict) -> Instance:
    """Have the claim looked at that lives under another attempt than the recorded one; the others ask again."""
    if instance.uuid == error.kwargs.get("consumer"):
        return proceed(instance, Step.SETTLE, status=Status.BUILDING, partition=_partition(turn, error))
    return _wait_or_fail(turn, instance, error)


def _partition(turn: Turn, error: errors.ClaimError) -> str:
    """Return where the claims are that the error tells of; a scheduler that is older has only the default one."""
    return error.kwargs.get("partition") or turn.peers.partition


def _again(turn: Turn, instances: Sequence[Instance], error: errors.ClaimError) -> list[Instance]:
    """Begin a new attempt: the claims of this one ended before any host was told of them.

    A conductor was away for longer than a claim's time. No guest can run under such a claim.
    """
    LOG.info("Claims of attempt %d have ended, selecting anew: %s", instances[0].attempt, sentence(error))
    answers = claims.abort(turn, instances)
    if answers is None:
        return [_wait_or_fail(turn, each, error) for each in instances]
    changed = []
    for each in instances:
        answer = answers[each.uuid, each.attempt].answer
        if answer in claims.OVER and each.attempt < turn.limits.max_attempts:
            changed.append(proceed(each, Step.SELECT, attempt=each.attempt + 1))
        elif answer in claims.OVER:
            changed.append(
                _failed(each, f"Its claims ended {each.attempt} times before a host was told: {sentence(error)}")
            )
        elif answer == Answer.CONFIRMED:
            changed.append(proceed(each, Step.SETTLE, status=Status.BUILDING))
        else:
            changed.append(_wait_or_fail(turn, each, error))
    return changed
