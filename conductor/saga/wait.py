# SPDX-License-Identifier: Apache-2.0
"""Step: wait for hosts' reports; tell a silent host again, and in the end look for an alternate.

A message that the bus acknowledged dies with the agent that took it, or with the bus. Sent again it is harmless: an
agent that knows the attempt only reports what it has, however far that is, and one that does not may still build
under the claim, if its deadline has not passed.
"""

from collections.abc import Sequence
from dataclasses import replace

from conductor import metrics
from conductor.saga import cast
from conductor.saga.transitions import proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Step


def wait(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Have the hosts told again whose time is not over yet; the others have waited in vain."""
    changed, silent = [], []
    for each in instances:
        if turn.now_ms < _end_ms(turn, each):
            silent.append(each)
        else:
            changed.append(proceed(each, Step.ALTERNATE))
    told, untold = cast.send_builds(turn, silent)
    metrics.RECASTS.inc(len(told))
    waiting = [_told(turn, each) for each in told]
    waiting += [turn.later(each, "its host could not be told again") for each in untold]
    return changed + [replace(each, wake_ms=min(each.wake_ms, _end_ms(turn, each))) for each in waiting]


def _end_ms(turn: Turn, instance: Instance) -> int:
    return instance.since_ms + turn.limits.build_timeout_ms


def _told(turn: Turn, instance: Instance) -> Instance:
    waited = turn.now_ms - instance.since_ms
    return replace(instance, tries=0, wake_ms=turn.now_ms + turn.recast_pause(waited))
