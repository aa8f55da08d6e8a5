# SPDX-License-Identifier: Apache-2.0
"""Changes of servers that callers request, and the statuses in which each may leave a server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devstack.lab.chaos.history import CallOutcome, Operation


@dataclass(frozen=True, slots=True)
class Change:
    """A change: the conductor's method, the statuses in which it is requested, and those in which it ends.

    Without ``ends`` a server ends as it was. A move is one more line of CHANGES.
    """

    method: str
    begins: frozenset[str]
    ends: frozenset[str] = frozenset()


ON_HOST = frozenset({"ACTIVE", "SHUTOFF"})
SHELVED = frozenset({"SHELVED", "SHELVED_OFFLOADED"})
ACTIVE, SHUTOFF, OFFLOADED = frozenset({"ACTIVE"}), frozenset({"SHUTOFF"}), frozenset({"SHELVED_OFFLOADED"})

CHANGES: Mapping[str, Change] = {
    "stop": Change("stop_instances", ACTIVE, SHUTOFF),
    "start": Change("start_instances", SHUTOFF, ACTIVE),
    "reboot": Change("reboot_instances", ACTIVE),
    "rebuild": Change("rebuild_instances", ON_HOST),
    "shelve": Change("shelve_instances", ON_HOST, SHELVED),
    # One for which there is no host is shelved again.
    "unshelve": Change("unshelve_instances", SHELVED, ACTIVE | OFFLOADED),
}
# A request of one of these may end the guest on its host.
ENDS_GUEST = ("shelve",)
BOOTED = ACTIVE


def expected_statuses(operations: Iterable[Operation]) -> dict[str, frozenset[str]]:
    """Return the statuses in which each acknowledged server may be, besides ERROR, when all work has ended.

    Changes of one server are requested one after the other. One that nobody acknowledged may have happened or not; one
    that was refused has not. SHELVED becomes SHELVED_OFFLOADED by itself.
    """
    expected: dict[str, frozenset[str]] = {}
    for operation in sorted(operations, key=lambda item: item.began_at):
        if operation.outcome is CallOutcome.REFUSED:
            continue
        change = CHANGES.get(operation.verb)
        for uuid in operation.uuids:
            before = expected.get(uuid, BOOTED)
            if change is None:
                expected[uuid] = before
            elif change.ends:
                is_certain = operation.outcome is CallOutcome.ACKNOWLEDGED
                expected[uuid] = change.ends if is_certain else before | change.ends
    return expected
