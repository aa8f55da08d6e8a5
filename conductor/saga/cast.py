# SPDX-License-Identifier: Apache-2.0
"""Steps: tell hosts, one message each however many instances, to build or to stop."""

from collections.abc import Iterable, Sequence

from oslo_log import log

from conductor.peers import UNANSWERED, sentence
from conductor.saga.transitions import proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Step
from rpcapi import objects
from rpcapi.model import names

LOG = log.getLogger(__name__)

# A host needs time to stop a guest, and is asked again until it says that it did.
TERMINATE_SLOWER = 4


def build(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Have each host build; an agent that has the message already reports what it has."""
    changed = []
    for host, group in _by_host(instances):
        request = objects.BuildRequest.of(
            spec=turn.spec,
            partition=group[0].partition or turn.peers.partition,
            project_id=turn.request.project,
            user_id=turn.request.user,
            uuids=[each.uuid for each in group],
            attempts=[each.attempt for each in group],
            names=[each.host for each in group],
        )
        try:
            turn.peers.compute.build_instances(turn.context(), host, request)
        except UNANSWERED as error:
            changed += [turn.later(each, error) for each in group]
        else:
            until = turn.now_ms + turn.limits.build_timeout_ms
            changed += [proceed(each, Step.WAIT, wake_ms=until) for each in group]
    return changed


def terminate(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Have each host stop; the step is over only when the host reports that the guest is gone."""
    for host, group in _by_host(instances):
        send_terminate(turn, host, group)
    return [turn.later(each, "until its host says that it is gone", slower=TERMINATE_SLOWER) for each in instances]


def send_terminate(turn: Turn, host: str, instances: Sequence[Instance]) -> None:
    """Send one terminate message; what does not arrive is sent again with the step."""
    refs = objects.ClaimRefs.of(
        consumers=[each.uuid for each in instances], attempts=[each.attempt for each in instances]
    )
    try:
        turn.peers.compute.terminate_instances(turn.context(), host, refs)
    except UNANSWERED as error:
        LOG.warning("Host %s could not be told to stop %d instances: %s", host, len(instances), sentence(error))


def _by_host(instances: Iterable[Instance]) -> list[tuple[str, list[Instance]]]:
    groups: dict[tuple[str, str | None], list[Instance]] = {}
    for each in instances:
        groups.setdefault((names.host_of(each.host or ""), each.partition), []).append(each)
    return [(host, group) for (host, _), group in groups.items()]
