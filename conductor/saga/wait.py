# SPDX-License-Identifier: Apache-2.0
"""Step WAIT: wait for reports of hosts; send the build again to silent hosts, finally try an alternate.

An acknowledged message is lost if the agent or the bus dies. Sending it again is safe: an agent that already has the
attempt only reports its state, and another one may still build under the claim until its deadline.
"""

from collections.abc import Sequence
from dataclasses import replace

from conductor import metrics
from conductor.saga import cast
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep


def wait(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Send the build again where the time-out has not passed; the other instances proceed to ALTERNATE."""
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
