# SPDX-License-Identifier: Apache-2.0
"""Step OFFLOAD: end the claims of shelved instances after [conductor] shelved_offload_time."""

from collections.abc import Sequence
from dataclasses import replace

from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import finish, set_step
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep


def offload(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Offload the instances whose time has passed; the others wait, or stay SHELVED where it never passes."""
    return [_offload(saga_pass, instance) for instance in instances]


def _offload(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    offload_ms = saga_pass.limits.shelved_offload_ms
    if offload_ms is None:
        return finish(instance, InstanceStatus.SHELVED)
    since_ms = instance.since_ms or saga_pass.now_ms
    if since_ms + offload_ms <= saga_pass.now_ms:
        return begin_offload(instance)
    return replace(instance, since_ms=since_ms, wake_ms=since_ms + offload_ms)


def begin_offload(instance: InstanceRecord) -> InstanceRecord:
    """Return the record with the step that removes the guest and then releases the claim."""
    return set_step(instance, SagaStep.TERMINATE, status=InstanceStatus.OFFLOADING)
