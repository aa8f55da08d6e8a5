# SPDX-License-Identifier: Apache-2.0
"""Step: end an attempt that did not come to be and prepare the next on an alternate.

It is the store of claims that says whether the old attempt has ended: only then is there a next one. Where its host
has confirmed it, it is that host's, however silent the host may be: a second copy is never made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from oslo_log import log

from conductor.peers import UNANSWERED, sentence
from conductor.saga import cast, claims
from conductor.saga.transitions import attempts, ended, finish, placed, proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Status, Step
from rpcapi import errors, objects
from rpcapi.model import names
from rpcapi.model.claims import Answer

LOG = log.getLogger(__name__)


def alternate(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Serve those that have an alternate and an attempt left; the others end in ERROR."""

    def decision(instance: Instance) -> tuple[bool, str, int, int]:
        able = bool(instance.alternates) and instance.attempt < turn.limits.max_attempts
        return able, instance.partition or "", instance.epoch, instance.position

    changed = []
    for (able, *_), found in groupby(sorted(instances, key=decision), key=decision):
        group = list(found)
        changed += _prepare(turn, group) if able else _give_up(turn, group)
    return changed


def _prepare(turn: Turn, group: Sequence[Instance]) -> list[Instance]:
    """Prepare the next attempt of all, or learn of each why not.

    All are served or none, and one that could have been served is answered REFUSED like the one that could not. So
    the rest is asked again without those that have an answer of their own, or in two halves.
    """
    if not group:
        return []
    uuids = [each.uuid for each in group]
    try:
        answers = claims.told(_ask(turn, group))
    except errors.InvalidRequest as error:
        return _give_up(turn, group, dict.fromkeys(uuids, f"no alternate could be asked for: {sentence(error)}"))
    except (*UNANSWERED, errors.GanttError) as error:
        LOG.warning("Preparing alternates for %d instances got no answer: %s", len(group), sentence(error))
        return [turn.later(each, error) for each in group]
    told = [(each, answers[each.uuid, each.attempt + 1]) for each in group]
    changed, refused, hopeless = [], [], []
    for each, row in told:
        if row.answer == Answer.REFUSED and len(group) > 1:
            refused.append(each)
        elif row.answer == Answer.REFUSED or (row.answer == Answer.CLOSED and not _has_time(turn, each)):
            hopeless.append(each)
        else:
            changed.append(_judged(turn, each, row))
    if hopeless:
        why = {each.uuid: f"no alternate would take it: {row.reason}" for each, row in told}
        changed += _give_up(turn, hopeless, why)
    if len(refused) < len(group):
        return changed + _prepare(turn, refused)
    middle = len(refused) // 2
    return _prepare(turn, refused[:middle]) + _prepare(turn, refused[middle:])


def _ask(turn: Turn, group: Sequence[Instance]) -> objects.ClaimAnswers:
    intents = objects.ClaimIntents.of(
        spec=turn.spec,
        consumers=[each.uuid for each in group],
        attempts=[each.attempt + 1 for each in group],
        replaces=[each.attempt for each in group],
        candidates=[list(each.alternates) for each in group],
        epoch=group[0].epoch,
        position=group[0].position,
    )
    return turn.peers.claims_of(group[0].partition).prepare_claims(turn.context(), intents)


def _judged(turn: Turn, instance: Instance, told: claims.Told) -> Instance:
    if told.answer == Answer.PREPARED and told.host is not None:
        left = list(instance.alternates)
        if told.host in left:
            left = left[left.index(told.host) + 1 :]
        late = _timed_out(turn, instance)
        return placed(late, instance.attempt + 1, told.host, left, allocations=told.allocations)
    if told.answer == Answer.CONFIRMED:
        return held(turn, instance)
    if told.answer in (Answer.ENDED, Answer.CONFLICT):
        return proceed(instance, Step.SETTLE)
    if told.answer == Answer.CLOSED:
        return replace(turn.later(instance, told.reason), since_ms=instance.since_ms or turn.now_ms)
    return turn.later(instance, told.answer)


def _has_time(turn: Turn, instance: Instance) -> bool:
    """Tell whether hosts that are yet to be audited are waited for."""
    return turn.now_ms - (instance.since_ms or turn.now_ms) < turn.limits.build_timeout_ms


def held(turn: Turn, instance: Instance) -> Instance:
    """Return what is next when the claim is the host's: ask once more, then leave it to the host."""
    host = names.host_of(instance.host or "")
    if instance.has_ended(instance.attempt):
        # It told us that nothing runs, yet holds the claim: a terminate has it released.
        cast.send_terminate(turn, host, [instance])
        return turn.later(instance, "its host still holds the claim of an attempt that it ended")
    if not instance.asked:
        return proceed(instance, Step.CAST, asked=True)
    seconds = turn.limits.build_timeout_ms / 1000
    reason = f"Host unreachable, claim kept: {instance.host} has confirmed it, but not reported for {seconds:g} s"
    return finish(instance, Status.ERROR, reason=reason)


def _timed_out(turn: Turn, instance: Instance) -> Instance:
    return ended(instance, "timeout", f"no report within {turn.limits.build_timeout_ms / 1000:g} s")


def _give_up(turn: Turn, group: Sequence[Instance], why: Mapping[str, str] | None = None) -> list[Instance]:
    """End the last attempt, then the instance; nothing is kept for what will not be built.

    ``why`` says by uuid what stood in the way; without it there was nothing left to try.
    """
    answers = claims.abort(turn, group)
    if answers is None:
        return [turn.later(each, "the claims gave no answer") for each in group]
    changed = []
    for each in group:
        answer = answers[each.uuid, each.attempt].answer
        if answer in claims.OVER:
            changed.append(_failed(turn, _timed_out(turn, each), why[each.uuid] if why else None))
        elif answer == Answer.CONFIRMED:
            changed.append(held(turn, each))
        else:
            changed.append(turn.later(each, answer))
    return changed


def _failed(turn: Turn, instance: Instance, why: str | None) -> Instance:
    if why is None:
        spent = instance.attempt >= turn.limits.max_attempts
        why = f"all {turn.limits.max_attempts} attempts are used" if spent else "no alternate is left"
    return finish(replace(instance, reason=f"{why[0].upper()}{why[1:]}; {attempts(instance)}"), Status.ERROR)
