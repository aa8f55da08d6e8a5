# SPDX-License-Identifier: Apache-2.0
"""Step VERIFY: confirm moves after [conductor] resize_confirm_window, if nobody confirmed or reverted them before."""

from collections.abc import Sequence
from dataclasses import replace

from conductor.saga.moves import confirm_move
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import finish
from conductor.store.records import InstanceRecord, InstanceStatus


def verify(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Confirm the moves whose time has passed; the others wait, or for a request where it never passes."""
    return [_verify(saga_pass, instance) for instance in instances]


def _verify(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    window_ms = saga_pass.limits.resize_confirm_ms
    if window_ms is None:
        return finish(instance, InstanceStatus.VERIFY_RESIZE)
    since_ms = instance.since_ms or saga_pass.now_ms
    if since_ms + window_ms <= saga_pass.now_ms:
        return confirm_move(instance)
    return replace(instance, since_ms=since_ms, wake_ms=since_ms + window_ms)
