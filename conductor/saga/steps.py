# SPDX-License-Identifier: Apache-2.0
"""Steps of the saga, in the order of a pass, with their messages and the steps that may follow."""

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
    """Step of the saga; lists of names are separated by spaces.

    Attributes:
        max_instances: Instances per call of ``run``; its result is recorded before the next call.
        calls: RPC methods that ``run`` repeats until they succeed; "" if the step waits for a time.
        following: Steps that ``run`` may set instead of repeating this one.
        reported: Steps that a host's report may set.
    """

    name: SagaStep
    run: StepFunction
    max_instances: int
    calls: str
    following: str
    reported: str = ""

    def may_set(self, step: SagaStep) -> bool:
        """Return whether ``run`` may set ``step``, or repeats this one."""
        return step in (self.name, *self.following.split())


WHOLE_REQUEST = 1_000_000
MESSAGES = 1000  # Messages of one call; bounded, so that a call stays short.
MOVES = 100  # Claims of a call, changed by a single script.

SELECTED = "cast abort settle"
BUILT = "done verify power terminate settle stop_source"  # set by reports of a build, also late ones

# A line ends with the calls of its step; the next line has the steps that may follow.
# fmt: off
STEPS = (
    # Steps that free capacity come first. ABORT ends two claims per instance.
    Step(SagaStep.ABORT, abort.abort, CLAIMS_PER_CALL // 2, "abort_claims",
         "terminate settle end_source end_move done", "settle done"),
    Step(SagaStep.TERMINATE, move_guests.terminate, MESSAGES, "terminate_instances change_guests",
         "abort resume", "end_source end_move destination resume abort settle done"),
    Step(SagaStep.END_SOURCE, move_guests.end_source, MESSAGES, "change_guests",
         "end_move abort settle done", "end_move abort settle done"),
    Step(SagaStep.POWER, power.change_power, MESSAGES, "change_guests operate_guests",
         "abort settle done", "offload abort settle done"),
    Step(SagaStep.STOP_DESTINATION, move_guests.stop_destination, MESSAGES, "change_guests",
         "end_move", "resume end_move settle"),
    Step(SagaStep.END_MOVE, move_claims.end_move, MOVES, "end_moves",
         "resume abort settle", "abort settle"),
    Step(SagaStep.RESUME, move_guests.resume, MESSAGES, "change_guests",
         "abort settle", "terminate end_move abort settle done"),
    Step(SagaStep.BEGIN_MOVE, move_claims.begin_move, MOVES, "begin_moves",
         "destination abort settle", "abort settle"),
    # A single decision selects hosts for all instances of a request or none; the other selections are one call each.
    Step(SagaStep.SELECT, select.select, WHOLE_REQUEST, "select_destinations", SELECTED),
    Step(SagaStep.OFFLOAD, resting.offload, MESSAGES, "", "terminate done", "settle done"),
    Step(SagaStep.VERIFY, resting.verify, MESSAGES, "", "end_source done", "stop_source end_move settle done"),
    Step(SagaStep.UNSHELVE, select.select_each, 10, "select_destinations", SELECTED),
    Step(SagaStep.DESTINATION, select.select_each, 10, "select_destinations",
         f"stop_source prepare_copy {SELECTED}", "abort settle"),
    Step(SagaStep.STOP_SOURCE, move_guests.stop_source, MESSAGES, "change_guests",
         "resume abort settle", "cast stop_destination resume end_move terminate abort settle"),
    Step(SagaStep.EVACUATE, select.select_each, 10, "select_destinations", SELECTED, "settle"),
    # PREPARE_COPY and SETTLE call two agents per instance.
    Step(SagaStep.PREPARE_COPY, copy_guests.prepare_copy, 2, "check_migrations prepare_incoming",
         "terminate", "copy switch destination end_move terminate settle"),
    Step(SagaStep.COPY, copy_guests.copy, 100, "copy_guests",
         "destination end_move terminate", "switch destination end_move terminate settle"),
    Step(SagaStep.SWITCH, copy_guests.switch, 100, "change_guests copy_guests",
         "end_source end_move done", "end_source end_move settle done"),
    Step(SagaStep.SETTLE, reconcile.settle, 2, "list_claims list_owners",
         "cast alternate stop_source prepare_copy begin_move power terminate abort", "abort done"),
    Step(SagaStep.WAIT, wait.wait, MESSAGES, "build_instances", "alternate", f"alternate {BUILT}"),
    # A single script claims alternates for a whole affinity group.
    Step(SagaStep.ALTERNATE, alternate.alternate, MAX_INSTANCES, "prepare_claims abort_claims",
         "cast stop_source prepare_copy end_move settle done", f"abort {BUILT}"),
    Step(SagaStep.CAST, cast.build, MESSAGES, "build_instances", "wait", f"alternate abort {BUILT}"),
)
# fmt: on
