# SPDX-License-Identifier: Apache-2.0
"""Steps CAST and TERMINATE: send one build or terminate message per host."""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

from oslo_log import log

from conductor.collaborators import NO_ANSWER_ERRORS, summarize_error
from conductor.saga.moves import destinations_of
from conductor.saga.step_context import StepContext
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi import errors, objects
from rpcapi.objects.guest import END
from rpcapi.resources import names
from rpcapi.resources.statuses import InstanceStatus

LOG = log.getLogger(__name__)

# Factor of the retry pause after messages to hosts, since stopping a guest takes time.
TERMINATE_PAUSE_FACTOR = 4
CLAIM_CHECK_INTERVAL = 6  # tries; each last one reads the claim instead of sending the message

Divided = tuple[list[InstanceRecord], list[InstanceRecord]]  # (sent, unsent)
SendFunction = Callable[[str, Sequence[InstanceRecord]], None]
Place = tuple[str, str | None]  # (resource name, partition)


def own_place(instance: InstanceRecord) -> Place:
    return instance.host or "", instance.partition


def build(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    sent_instances, unsent_instances = send_builds(context, instances)
    wake_ms = context.now_ms + min(context.recast_pause(0), context.limits.build_timeout_ms)
    waiting = [
        set_step(instance, SagaStep.WAIT, since_ms=context.now_ms, wake_ms=wake_ms) for instance in sent_instances
    ]
    return waiting + [
        context.retry_later(instance, "the message to its host could not be sent") for instance in unsent_instances
    ]


def terminate(context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
    """Repeat terminate messages until the hosts report the end; ABORT checks the claims of silent hosts."""
    return request_report(
        context,
        instances,
        functools.partial(_terminate, context),
        lambda instance: set_step(instance, SagaStep.ABORT, tries=instance.tries + 1),
    )


def request_report(
    context: StepContext,
    instances: Sequence[InstanceRecord],
    send: SendFunction,
    check_claim: Callable[[InstanceRecord], InstanceRecord],
    place_of: Callable[[InstanceRecord], Place] = own_place,
) -> list[InstanceRecord]:
    silent = [instance for instance in instances if is_silent(instance)]
    requested = [instance for instance in instances if not is_silent(instance)]
    sent_instances, unsent_instances = send_by_host(requested, send, place_of)
    waiting = [
        context.retry_later(instance, "waiting for the report", slower=TERMINATE_PAUSE_FACTOR)
        for instance in sent_instances
    ]
    waiting += [
        context.retry_later(instance, "the message to its host could not be sent") for instance in unsent_instances
    ]
    return waiting + [check_claim(instance) for instance in silent]


def is_silent(instance: InstanceRecord) -> bool:
    """Return whether this try reads the claim.

    A fenced host sends no report: only its claim shows the end.
    """
    return (instance.tries + 1) % CLAIM_CHECK_INTERVAL == 0


def send_builds(context: StepContext, instances: Sequence[InstanceRecord]) -> Divided:
    """Send the build messages; an agent that already has the attempt reports its state."""

    def send(host: str, group: Sequence[InstanceRecord]) -> None:
        for members in group_by_spec(context.spec_of, group):
            context.clients.compute.build_instances(context.new_ctxt(), host, build_request(context, members))

    return send_by_host(instances, send)


def build_request(context: StepContext, group: Sequence[InstanceRecord]) -> objects.BuildRequest:
    return objects.BuildRequest.of(
        spec=context.spec_of(group[0]),
        partition=group[0].partition or context.clients.partition,
        project_id=context.request.project,
        user_id=context.request.user,
        uuids=[instance.uuid for instance in group],
        attempts=[instance.attempt for instance in group],
        names=[instance.host for instance in group],
        allocations=[instance.allocations for instance in group]
        if any(instance.allocations for instance in group)
        else [],
        powered_off=[instance.uuid for instance in group if _moves_powered_off(instance)],
        moves=destinations_of(group),
    )


def group_by_spec(
    spec_of: Callable[[InstanceRecord], objects.RequestSpec], instances: Iterable[InstanceRecord]
) -> list[list[InstanceRecord]]:
    groups: list[tuple[objects.RequestSpec, list[InstanceRecord]]] = []
    for instance in instances:
        spec = spec_of(instance)
        for group_spec, group in groups:
            if spec is group_spec or spec.obj_to_primitive() == group_spec.obj_to_primitive():
                group.append(instance)
                break
        else:
            groups.append((spec, [instance]))
    return [group for _spec, group in groups]


def _moves_powered_off(instance: InstanceRecord) -> bool:
    migration = instance.open_migration or instance.evacuation
    return migration is not None and migration.was_stopped


def send_terminate(context: StepContext, host: str, instances: Sequence[InstanceRecord]) -> None:
    """Send one terminate message without raising: the retried step sends a lost message again."""
    _send(functools.partial(_terminate, context), host, instances)


def _terminate(context: StepContext, host: str, instances: Sequence[InstanceRecord]) -> None:
    """End the guests of deleted instances; end other guests unless their host followed a later message."""
    deleted = [instance for instance in instances if instance.status == InstanceStatus.DELETING]
    if deleted:
        refs = objects.ClaimRefs.of(
            consumers=[instance.uuid for instance in deleted], attempts=[instance.attempt for instance in deleted]
        )
        context.clients.compute.terminate_instances(context.new_ctxt(), host, refs)
    others = [instance for instance in instances if instance.status != InstanceStatus.DELETING]
    if others:
        send_transitions(context, host, others, [END] * len(others))


def send_transitions(
    context: StepContext,
    host: str,
    instances: Sequence[InstanceRecord],
    actions: Sequence[str],
    moves: Sequence[Mapping[str, str]] = (),
) -> None:
    transitions = objects.GuestTransitions.of(
        partition=instances[0].partition or context.clients.partition,
        uuids=[instance.uuid for instance in instances],
        attempts=[instance.attempt for instance in instances],
        actions=list(actions),
        numbers=[instance.transition_number for instance in instances],
        moves=list(moves),
    )
    context.clients.compute.change_guests(context.new_ctxt(), host, transitions)


def send_by_host(
    instances: Sequence[InstanceRecord], send: SendFunction, place_of: Callable[[InstanceRecord], Place] = own_place
) -> Divided:
    """Send one message per host, up to the first failure.

    In a bus outage, hundreds of tries would outlast the lease.
    """
    sent_instances: list[InstanceRecord] = []
    unsent_instances: list[InstanceRecord] = []
    for host, group in _by_host(instances, place_of):
        if not unsent_instances and _send(send, host, group):
            sent_instances += group
        else:
            unsent_instances += group
    return sent_instances, unsent_instances


def _send(send: SendFunction, host: str, instances: Sequence[InstanceRecord]) -> bool:
    try:
        send(host, instances)
    except (*NO_ANSWER_ERRORS, errors.InvalidRequest) as error:
        LOG.warning("Sending to host %s failed for %d instances: %s", host, len(instances), summarize_error(error))
        return False
    return True


def _by_host(
    instances: Iterable[InstanceRecord], place_of: Callable[[InstanceRecord], Place]
) -> list[tuple[str, list[InstanceRecord]]]:
    groups: dict[Place, list[InstanceRecord]] = {}
    for instance in instances:
        name, partition = place_of(instance)
        groups.setdefault((names.host_of(name), partition), []).append(instance)
    return [(host, group) for (host, _), group in groups.items()]
