# SPDX-License-Identifier: Apache-2.0
"""Step VERIFY: confirm moves after [conductor] resize_confirm_window unless they were confirmed or reverted."""

from collections.abc import Sequence

from conductor.saga.moves import confirm_move
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import act_after
from conductor.store.records import InstanceRecord, InstanceStatus


def verify(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Confirm moves whose window has passed; without a window, they rest in VERIFY_RESIZE."""
    window_ms, now_ms = saga_pass.limits.resize_confirm_ms, saga_pass.now_ms
    return [
        act_after(instance, window_ms, now_ms, confirm_move, InstanceStatus.VERIFY_RESIZE) for instance in instances
    ]
