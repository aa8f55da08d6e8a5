# SPDX-License-Identifier: Apache-2.0
"""Steps: tell hosts, one message each however many instances, to build or to stop."""

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from oslo_log import log

from conductor.peers import UNANSWERED, sentence
from conductor.saga.transitions import proceed
from conductor.saga.turn import Turn
from conductor.store.records import Instance, Step
from rpcapi import errors, objects
from rpcapi.model import names

LOG = log.getLogger(__name__)

# A host needs time to stop a guest, and is asked again until it says that it did.
TERMINATE_SLOWER = 4
SILENT_TRIES = 6  # of so many tries to have a host stop, the last one looks at its claim

Send = Callable[[str, Sequence[Instance]], None]


class Sent(NamedTuple):
    """Whose host was sent its message, and whose was not."""

    told: Sequence[Instance]
    untold: Sequence[Instance]


def build(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Have each host build, and wait for its report."""
    told, untold = send_builds(turn, instances)
    wake_ms = turn.now_ms + min(turn.recast_pause(0), turn.limits.build_timeout_ms)
    waiting = [proceed(each, Step.WAIT, since_ms=turn.now_ms, wake_ms=wake_ms) for each in told]
    return waiting + [turn.later(each, "its host could not be told") for each in untold]


def terminate(turn: Turn, instances: Sequence[Instance]) -> list[Instance]:
    """Have each host stop; the step is over when the host reports that the guest is gone.

    A host that keeps silent may have been fenced: then its claim has ended, and nobody will ever report. So every
    few tries the claim is asked instead.
    """
    silent = [each for each in instances if (each.tries + 1) % SILENT_TRIES == 0]
    asked = [each for each in instances if (each.tries + 1) % SILENT_TRIES]
    told, untold = _send_each(asked, functools.partial(_terminate, turn))
    waiting = [turn.later(each, "until its host says that it is gone", slower=TERMINATE_SLOWER) for each in told]
    waiting += [turn.later(each, "its host could not be told") for each in untold]
    return waiting + [proceed(each, Step.ABORT, tries=each.tries + 1) for each in silent]


def send_builds(turn: Turn, instances: Sequence[Instance]) -> Sent:
    """Send each host its build; an agent that has the message already reports what it has."""

    def send(host: str, group: Sequence[Instance]) -> None:
        request = objects.BuildRequest.of(
            spec=turn.spec,
            partition=group[0].partition or turn.peers.partition,
            project_id=turn.request.project,
            user_id=turn.request.user,
            uuids=[each.uuid for each in group],
            attempts=[each.attempt for each in group],
            names=[each.host for each in group],
            allocations=[each.allocations for each in group] if any(each.allocations for each in group) else [],
        )
        turn.peers.compute.build_instances(turn.context(), host, request)

    return _send_each(instances, send)


def send_terminate(turn: Turn, host: str, instances: Sequence[Instance]) -> None:
    """Send one terminate message; what does not arrive is sent again with the step."""
    _send(functools.partial(_terminate, turn), host, instances)


def _terminate(turn: Turn, host: str, instances: Sequence[Instance]) -> None:
    refs = objects.ClaimRefs.of(
        consumers=[each.uuid for each in instances], attempts=[each.attempt for each in instances]
    )
    turn.peers.compute.terminate_instances(turn.context(), host, refs)


def _send_each(instances: Sequence[Instance], send: Send) -> Sent:
    """Send each host its message, until one cannot be sent.

    Sending needs the bus, not the host. While the bus is away each try may take seconds, and hundreds of hosts tried
    in a row would outlast the lease.
    """
    told: list[Instance] = []
    untold: list[Instance] = []
    for host, group in _by_host(instances):
        if not untold and _send(send, host, group):
            told += group
        else:
            untold += group
    return Sent(told, untold)


def _send(send: Send, host: str, instances: Sequence[Instance]) -> bool:
    try:
        send(host, instances)
    except (*UNANSWERED, errors.InvalidRequest) as error:
        LOG.warning("Host %s could not be told of %d instances: %s", host, len(instances), sentence(error))
        return False
    return True


def _by_host(instances: Iterable[Instance]) -> list[tuple[str, list[Instance]]]:
    groups: dict[tuple[str, str | None], list[Instance]] = {}
    for each in instances:
        groups.setdefault((names.host_of(each.host or ""), each.partition), []).append(each)
    return [(host, group) for (host, _), group in groups.items()]
