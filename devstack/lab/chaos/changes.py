# SPDX-License-Identifier: Apache-2.0
"""Server changes that callers request, and the statuses in which each may leave a server."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devstack.lab.chaos.history import CallOutcome, Operation


@dataclass(frozen=True, slots=True)
class ServerChange:
    """Conductor method, the statuses in which it is requested, and the statuses in which it ends.

    Without ``ends`` the status stays; so it does when a move fails. ``ends_move``: the request names the servers' last
    migrations and leaves no server in ``begins``.
    """

    method: str
    begins: frozenset[str]
    ends: frozenset[str] = frozenset()
    moves: bool = False
    ends_move: bool = False


ON_HOST = frozenset({"ACTIVE", "SHUTOFF"})
SHELVED = frozenset({"SHELVED", "SHELVED_OFFLOADED"})
VERIFY, MIGRATING, ERROR = frozenset({"VERIFY_RESIZE"}), frozenset({"MIGRATING"}), frozenset({"ERROR"})
ACTIVE, SHUTOFF, OFFLOADED = frozenset({"ACTIVE"}), frozenset({"SHUTOFF"}), frozenset({"SHELVED_OFFLOADED"})

CHANGES: Mapping[str, ServerChange] = {
    "stop": ServerChange("stop_instances", ACTIVE, SHUTOFF),
    "start": ServerChange("start_instances", SHUTOFF, ACTIVE),
    "reboot": ServerChange("reboot_instances", ACTIVE),
    "rebuild": ServerChange("rebuild_instances", ON_HOST),
    "shelve": ServerChange("shelve_instances", ON_HOST, SHELVED),
    # Without a host the server is shelved again.
    "unshelve": ServerChange("unshelve_instances", SHELVED, ACTIVE | OFFLOADED),
    "migrate": ServerChange("migrate_instances", ON_HOST, VERIFY, moves=True),
    "resize": ServerChange("resize_instances", ON_HOST, VERIFY, moves=True),
    "confirm": ServerChange("confirm_migrations", VERIFY, ends_move=True),
    "revert": ServerChange("revert_migrations", VERIFY, ends_move=True),
    "live-migrate": ServerChange("live_migrate_instances", ACTIVE, moves=True),
    "abort": ServerChange("abort_migrations", MIGRATING, ends_move=True),
    "evacuate": ServerChange("evacuate_instances", ON_HOST | ERROR, moves=True),
}
MOVES = tuple(verb for verb, change in CHANGES.items() if change.moves)
# Requests that may end the guest on its host.
ENDS_GUEST = ("shelve", *MOVES)
BOOTED = ACTIVE


def expected_statuses(operations: Iterable[Operation]) -> dict[str, frozenset[str]]:
    """Return the statuses, besides ERROR, that each acknowledged server may have at rest.

    An unanswered change may have happened. SHELVED becomes SHELVED_OFFLOADED by itself.
    """
    expected: dict[str, frozenset[str]] = {}
    for operation in sorted(operations, key=lambda item: item.began_at):
        if operation.outcome is CallOutcome.REFUSED:
            continue
        change = CHANGES.get(operation.verb)
        for uuid in operation.uuids:
            before = expected.get(uuid, BOOTED)
            is_certain = operation.outcome is CallOutcome.ACKNOWLEDGED
            expected[uuid] = before if change is None else _after(before, change, is_certain=is_certain)
    return expected


def _after(before: frozenset[str], change: ServerChange, *, is_certain: bool) -> frozenset[str]:
    if change.ends_move:
        return before - change.begins if is_certain else before
    if not change.ends:
        return before
    return change.ends if is_certain and not change.moves else before | change.ends
