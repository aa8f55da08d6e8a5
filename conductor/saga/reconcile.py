# SPDX-License-Identifier: Apache-2.0
"""Step SETTLE: record and claim diverged (a conductor or its store lost data); the claim is authoritative."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from conductor.saga import cast
from conductor.saga.saga_pass import SagaPass
from conductor.saga.transitions import assign_host, end_attempt, set_step
from conductor.service_clients import NO_ANSWER_ERRORS
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.resources import names


def settle(saga_pass: SagaPass, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Read each instance's live claim, and continue with it, or without one."""
    return [_settle(saga_pass, instance) for instance in instances]


def _settle(saga_pass: SagaPass, instance: InstanceRecord) -> InstanceRecord:
    client = saga_pass.clients.claims_of(instance.partition)
    try:
        page = client.list_claims(saga_pass.context(), consumer=instance.uuid)
    except (*NO_ANSWER_ERRORS, errors.GanttError) as error:
        return saga_pass.retry_later(instance, error)
    return _adopt_claim(saga_pass, instance, page.claims[0]) if page.claims else _continue_without_claim(instance)


def _adopt_claim(saga_pass: SagaPass, instance: InstanceRecord, claim: Mapping[str, Any]) -> InstanceRecord:
    attempt, host, migration = claim["attempt"], claim["host"], instance.open_migration
    if migration is not None and attempt == migration.source_attempt:
        return set_step(instance, SagaStep.HAND_OVER)  # the claims service forgot that it was handed over
    if instance.has_ended(attempt):
        # The host reported that nothing runs, but it still has the claim: terminate makes it release the claim.
        cast.send_terminate(saga_pass, names.host_of(host), [replace(instance, attempt=attempt)])
        return saga_pass.retry_later(instance, f"attempt {attempt} has ended, but its claim is still live")
    if attempt != instance.attempt:
        instance = end_attempt(instance, "lost", f"attempt {attempt} has replaced it")
    # The build is sent in any case: the host reports its current state.
    allocations = claim["allocations"]
    plain = allocations == {host: saga_pass.spec_of(instance).resources}
    return assign_host(instance, attempt, host, claim["alternates"], allocations=None if plain else allocations)


def _continue_without_claim(instance: InstanceRecord) -> InstanceRecord:
    """Skip the attempt that was prepared and ended without being recorded; proceed to an alternate."""
    instance = end_attempt(instance, "lost", "its claim has ended")
    next_attempt = set_step(instance, SagaStep.ALTERNATE, attempt=instance.attempt + 1, host=None)
    return end_attempt(next_attempt, "lost", "its claim ended before a build was sent")
