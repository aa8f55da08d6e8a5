# SPDX-License-Identifier: Apache-2.0
"""Steps OFFLOAD and VERIFY, which act after an instance has waited for a configured time."""

from collections.abc import Sequence

from conductor.saga.moves import confirm_move
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import act_after, set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus


def offload(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Offload instances whose time has passed; without an offload time, they stay SHELVED."""
    window_ms, now_ms = context.limits.shelved_offload_ms, context.now_ms
    return [act_after(instance, window_ms, now_ms, begin_offload, InstanceStatus.SHELVED) for instance in instances]


def begin_offload(instance: InstanceRecord) -> InstanceRecord:
    return set_step(instance, SagaStep.TERMINATE, status=InstanceStatus.OFFLOADING)


def verify(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Confirm moves whose window has passed; without a window, they stay in VERIFY_RESIZE."""
    window_ms, now_ms = context.limits.resize_confirm_ms, context.now_ms
    return [
        act_after(instance, window_ms, now_ms, confirm_move, InstanceStatus.VERIFY_RESIZE) for instance in instances
    ]
