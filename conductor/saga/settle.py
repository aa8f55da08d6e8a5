# SPDX-License-Identifier: Apache-2.0
"""Step: record and claim have parted (a conductor or its store lost something); the claim is the truth."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.peers import UNANSWERED
from conductor.saga import cast
from conductor.saga.transitions import ended, placed, proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Step
from rpcapi import errors
from rpcapi.model import names


def settle(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Look for each instance's live claim, and go on from it, or from there being none."""
    return [_settled(turn, each) for each in instances]


def _settled(turn: Turn, instance: Instance) -> Instance:
    client = turn.peers.claims_of(instance.partition)
    try:
        page = client.list_claims(turn.context(), consumer=instance.uuid)
    except (*UNANSWERED, errors.GanttError) as error:
        return turn.later(instance, error)
    return _adopted(turn, instance, page.claims[0]) if page.claims else _lost(instance)


def _adopted(turn: Turn, instance: Instance, claim: Mapping[str, Any]) -> Instance:
    attempt, host = claim["attempt"], claim["host"]
    if instance.has_ended(attempt):
        # Its host told us that nothing runs, yet holds the claim: a terminate has it released.
        cast.send_terminate(turn, names.host_of(host), [replace(instance, attempt=attempt)])
        return turn.later(instance, f"attempt {attempt} has ended, but its claim has not")
    if attempt != instance.attempt:
        instance = ended(instance, "lost", f"attempt {attempt} has taken its place")
    # Its host is told in any case: it reports what it has.
    allocations = claim["allocations"]
    plain = allocations == {host: turn.spec.resources}
    return placed(instance, attempt, host, claim["alternates"], allocations=None if plain else allocations)


def _lost(instance: Instance) -> Instance:
    """Go on after the attempt that was prepared, and ended, without ever being recorded."""
    instance = ended(instance, "lost", "its claim has ended")
    following = proceed(instance, Step.ALTERNATE, attempt=instance.attempt + 1, host=None)
    return ended(following, "lost", "its claim ended before a host was told of it")
