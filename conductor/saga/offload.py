# SPDX-License-Identifier: Apache-2.0
"""Step OFFLOAD: end the claims of shelved instances after [conductor] shelved_offload_time."""

from collections.abc import Sequence

from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import act_after, set_step
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep


def offload(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Offload instances whose time has passed; the others wait. Without an offload time, they stay SHELVED."""
    window_ms, now_ms = saga_pass.limits.shelved_offload_ms, saga_pass.now_ms
    return [act_after(instance, window_ms, now_ms, begin_offload, InstanceStatus.SHELVED) for instance in instances]


def begin_offload(instance: InstanceRecord) -> InstanceRecord:
    return set_step(instance, SagaStep.TERMINATE, status=InstanceStatus.OFFLOADING)
