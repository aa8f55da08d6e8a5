# SPDX-License-Identifier: Apache-2.0
"""Step WAIT: wait for build reports; resend the build to silent hosts, finally try an alternate.

An acknowledged message is lost if the agent or the bus dies. Resending is safe: an agent that has the attempt only
reports its state, and a lost build may still start under the claim until its deadline.
"""

from collections.abc import Sequence
from dataclasses import replace

from conductor import metrics
from conductor.saga import cast
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep


def wait(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Resend builds until the time-out; then continue with ALTERNATE."""
    changed, silent = [], []
    for instance in instances:
        if saga_pass.now_ms < _end_ms(saga_pass, instance):
            silent.append(instance)
        else:
            changed.append(set_step(instance, SagaStep.ALTERNATE))
    sent_instances, unsent_instances = cast.send_builds(saga_pass, silent)
    metrics.RECASTS.inc(len(sent_instances))
    waiting = [_wait_again(saga_pass, instance) for instance in sent_instances]
    waiting += [
        saga_pass.retry_later(instance, "the message to its host could not be sent again")
        for instance in unsent_instances
    ]
    return changed + [
        replace(instance, wake_ms=min(instance.wake_ms, _end_ms(saga_pass, instance))) for instance in waiting
    ]


def _end_ms(saga_pass: SagaPass, instance: InstanceRecord) -> int:
    return instance.since_ms + saga_pass.limits.build_timeout_ms


def _wait_again(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    waited = saga_pass.now_ms - instance.since_ms
    return replace(instance, tries=0, wake_ms=saga_pass.now_ms + saga_pass.recast_pause(waited))
