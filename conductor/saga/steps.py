# SPDX-License-Identifier: Apache-2.0
"""Steps of the saga, in the order of a pass, with their calls and the steps that they and reports may set."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from conductor.claim_answers import CLAIMS_PER_CALL
from conductor.saga import (
    abort,
    alternate,
    cast,
    copy_guests,
    move_claims,
    move_guests,
    power,
    reconcile,
    resting,
    select,
    wait,
)
from conductor.saga.step_context import StepContext
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.claims import MAX_INSTANCES

StepFunction = Callable[[StepContext, Sequence[InstanceRecord]], list[InstanceRecord]]


class Step(NamedTuple):
    """Step of the saga.

    Attributes:
        max_instances: Instances per call of ``run``; its result is recorded before the next call.
        calls: RPC methods that ``run`` may call; the main ones first, () if the step waits for a time.
        following: Steps that ``run`` may set instead of repeating this one.
        reported: Steps that a host's report, or a comparison with the claims, may set.
    """

    name: SagaStep
    run: StepFunction
    max_instances: int
    calls: tuple[str, ...]
    following: tuple[SagaStep, ...]
    reported: tuple[SagaStep, ...] = ()

    def may_set(self, step: SagaStep) -> bool:
        """Return whether ``run`` may set ``step``, or repeats this one."""
        return step == self.name or step in self.following


WHOLE_REQUEST = 1_000_000
MESSAGES = 1000  # Messages of one call; bounded, so that a call stays short.
MOVES = 100  # Claims of a call, changed by a single script.

S = SagaStep
SELECTING = ("select_destinations", "abort_claims", "exchange_stamps")
CHANGING = ("change_guests", "find_claims")
SELECTED = (S.CAST, S.ABORT, S.SETTLE)
# Steps set by reports of a build, also late ones.
BUILT = (S.DONE, S.VERIFY, S.POWER, S.TERMINATE, S.ABORT, S.SETTLE, S.STOP_SOURCE)

# After the calls of a step, a new line begins with the steps that may follow, then those that reports may set.
# fmt: off
STEPS = (
    # Steps that free capacity come first. ABORT ends two claims per instance.
    Step(S.ABORT, abort.abort, CLAIMS_PER_CALL // 2, ("abort_claims", "list_claims", "exchange_stamps"),
         (S.TERMINATE, S.SETTLE, S.END_SOURCE, S.END_MOVE, S.DONE), (S.POWER, S.SETTLE, S.DONE)),
    Step(S.TERMINATE, move_guests.terminate, MESSAGES, ("terminate_instances", *CHANGING),
         (S.ABORT, S.RESUME), (S.END_SOURCE, S.END_MOVE, S.DESTINATION, S.RESUME, S.ABORT, S.SETTLE, S.DONE)),
    Step(S.END_SOURCE, move_guests.end_source, MESSAGES, (*CHANGING, "begin_moves"),
         (S.END_MOVE, S.ABORT, S.SETTLE, S.DONE), (S.END_MOVE, S.ABORT, S.SETTLE, S.DONE)),
    Step(S.POWER, power.change_power, MESSAGES, (*CHANGING, "operate_guests"),
         (S.ABORT, S.SETTLE, S.DONE), (S.OFFLOAD, S.ABORT, S.SETTLE, S.DONE)),
    Step(S.STOP_DESTINATION, move_guests.stop_destination, MESSAGES, CHANGING,
         (S.END_MOVE,), (S.RESUME, S.END_MOVE, S.SETTLE)),
    Step(S.END_MOVE, move_claims.end_move, MOVES,
         ("end_moves", "find_claims", "list_claims", "list_partitions", "exchange_stamps"),
         (S.RESUME, S.ABORT, S.SETTLE), (S.ABORT, S.SETTLE)),
    Step(S.RESUME, move_guests.resume, MESSAGES, (*CHANGING, "begin_moves"),
         (S.ABORT, S.SETTLE), (S.TERMINATE, S.END_MOVE, S.ABORT, S.SETTLE, S.DONE)),
    Step(S.BEGIN_MOVE, move_claims.begin_move, MOVES, ("begin_moves", "end_moves", "exchange_stamps"),
         (S.DESTINATION, S.ABORT, S.SETTLE), (S.ABORT, S.SETTLE)),
    # A single decision selects hosts for all instances of a request or none; the other selections are one call each.
    Step(S.SELECT, select.select, WHOLE_REQUEST, SELECTING, SELECTED),
    Step(S.OFFLOAD, resting.offload, MESSAGES, (),
         (S.TERMINATE, S.DONE), (S.SETTLE, S.DONE)),
    Step(S.VERIFY, resting.verify, MESSAGES, (),
         (S.END_SOURCE, S.DONE), (S.STOP_SOURCE, S.END_MOVE, S.SETTLE, S.DONE)),
    Step(S.UNSHELVE, select.select_each, 10, SELECTING, SELECTED),
    Step(S.DESTINATION, select.select_each, 10, SELECTING,
         (S.STOP_SOURCE, S.PREPARE_COPY, *SELECTED), (S.ABORT, S.SETTLE)),
    Step(S.STOP_SOURCE, move_guests.stop_source, MESSAGES, (*CHANGING, "begin_moves"),
         (S.RESUME, S.ABORT, S.SETTLE),
         (S.CAST, S.STOP_DESTINATION, S.RESUME, S.END_MOVE, S.TERMINATE, S.ABORT, S.SETTLE)),
    Step(S.EVACUATE, select.select_each, 10, SELECTING, SELECTED, (S.SETTLE,)),
    # PREPARE_COPY and SETTLE call two agents per instance.
    Step(S.PREPARE_COPY, copy_guests.prepare_copy, 2, ("check_migrations", "prepare_incoming"),
         (S.TERMINATE,), (S.COPY, S.SWITCH, S.DESTINATION, S.END_MOVE, S.TERMINATE, S.SETTLE)),
    Step(S.COPY, copy_guests.copy, 100, ("copy_guests", "find_claims"),
         (S.DESTINATION, S.END_MOVE, S.TERMINATE), (S.SWITCH, S.DESTINATION, S.END_MOVE, S.TERMINATE, S.SETTLE)),
    Step(S.SWITCH, copy_guests.switch, 100, (*CHANGING, "copy_guests", "get_host_state"),
         (S.END_SOURCE, S.END_MOVE, S.DONE), (S.END_SOURCE, S.END_MOVE, S.SETTLE, S.DONE)),
    Step(S.SETTLE, reconcile.settle, 2,
         ("list_claims", "list_owners", "list_partitions", "end_moves", "abort_claims", *CHANGING),
         (S.CAST, S.ALTERNATE, S.STOP_SOURCE, S.PREPARE_COPY, S.BEGIN_MOVE, S.POWER, S.TERMINATE, S.ABORT),
         (S.ABORT, S.DONE)),
    Step(S.WAIT, wait.wait, MESSAGES, ("build_instances",),
         (S.ALTERNATE,), (S.ALTERNATE, *BUILT)),
    # A single script claims alternates for a whole affinity group.
    Step(S.ALTERNATE, alternate.alternate, MAX_INSTANCES,
         ("prepare_claims", "abort_claims", "exchange_stamps", *CHANGING),
         (S.CAST, S.STOP_SOURCE, S.PREPARE_COPY, S.END_MOVE, S.SETTLE, S.DONE), BUILT),
    Step(S.CAST, cast.build, MESSAGES, ("build_instances",),
         (S.WAIT,), (S.ALTERNATE, *BUILT)),
)
# fmt: on

# Steps that a report, or a comparison with the claims, may set in an instance without a step.
REPORTED_WHEN_DONE = (S.POWER, S.TERMINATE, S.STOP_SOURCE, S.END_MOVE, S.CAST, S.ABORT, S.SETTLE)
