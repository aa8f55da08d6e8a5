# SPDX-License-Identifier: Apache-2.0
"""Step WAIT: wait for build reports; resend the build to silent hosts, finally try an alternate.

An acknowledged message is lost if the agent or the bus dies. Resending is safe: an agent that has the attempt only
reports its state, and a lost build may still start under the claim until its deadline.
"""

from collections.abc import Sequence
from dataclasses import replace

from conductor import metrics
from conductor.saga import cast
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep


def wait(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Resend builds until the time-out; then continue with ALTERNATE."""
    changed, silent = [], []
    for instance in instances:
        if context.now_ms < _end_ms(context, instance):
            silent.append(instance)
        else:
            changed.append(set_step(instance, SagaStep.ALTERNATE))
    sent_instances, unsent_instances = cast.send_builds(context, silent)
    metrics.RECASTS.inc(len(sent_instances))
    waiting = [_wait_again(context, instance) for instance in sent_instances]
    waiting += [
        context.retry_later(instance, "the message to its host could not be sent again")
        for instance in unsent_instances
    ]
    return changed + [
        replace(instance, wake_ms=min(instance.wake_ms, _end_ms(context, instance))) for instance in waiting
    ]


def _end_ms(context: StepContext, instance: InstanceRecord) -> int:
    return instance.since_ms + context.limits.build_timeout_ms


def _wait_again(context: StepContext, instance: InstanceRecord) -> InstanceRecord:
    waited = context.now_ms - instance.since_ms
    return replace(instance, tries=0, wake_ms=context.now_ms + context.recast_pause(waited))
