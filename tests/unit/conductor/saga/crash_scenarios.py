# SPDX-License-Identifier: Apache-2.0
"""What a conductor does in the tests that crash it, with the state in which each of it ends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.support.conductor.ledger import FOREVER_MS
from tests.support.conductor.simulated_cluster import (
    LARGE,
    SPEC,
    SimulatedCluster,
    uuid_list,
)

UUIDS = uuid_list(4)
CAPACITIES = {"h1/n": 4, "h2/n": 4, "h3/n": 4}
AFFINITY = {"group_id": "g", "group_policy": "affinity"}


@dataclass(frozen=True)
class CrashScenario:
    """A scenario without other failures, and its expected final state.

    The default run takes only every ``sample``-th of its calls, others with each commit.
    """

    play: Callable[[SimulatedCluster], None]
    ends: list[str]
    sample: int = 7
    capacities: Mapping[str, int] = field(default_factory=lambda: CAPACITIES)


def _boot(cluster: SimulatedCluster) -> None:
    cluster.build(UUIDS)
    cluster.settle()


def _boot_with(behaviours: dict) -> Callable[[SimulatedCluster], None]:
    def play(cluster: SimulatedCluster) -> None:
        cluster.hosts.behaviours.update(behaviours)
        _boot(cluster)

    return play


def _silence(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h2"] = "mute"
    _boot(cluster)
    cluster.hosts.send_pending_reports()
    cluster.settle()


def _stop_and_start(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.stop(UUIDS)
    cluster.settle()
    cluster.start(UUIDS[:2])
    cluster.delete(UUIDS[2:3])
    cluster.settle()


def _reboot_and_rebuild(cluster: SimulatedCluster) -> None:
    _stop_and_start(cluster)
    cluster.rebuild([UUIDS[0], UUIDS[3]])
    cluster.reboot(UUIDS[1:2])
    cluster.settle()
    cluster.reboot(UUIDS[:1], hard=True)
    cluster.settle()


def _shelve_and_unshelve(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.shelve(UUIDS)
    cluster.settle()
    cluster.unshelve(UUIDS[:2])
    cluster.delete(UUIDS[2:3])
    cluster.settle()


def _lose_host(cluster: SimulatedCluster) -> list[str]:
    """Power off and fence the host of the first instance; return all that ran there."""
    host = (cluster.record(UUIDS[0]).host or "").partition("/")[0]
    uuids = [uuid for uuid in UUIDS if (cluster.record(uuid).host or "").startswith(f"{host}/")]
    cluster.lose_host(host)
    return uuids


def _evacuate(cluster: SimulatedCluster) -> None:
    """Lose a host with two instances, one of which is off: its rebuild evacuates it, the other one is refused once."""
    _boot(cluster)
    cluster.stop(UUIDS[3:])
    cluster.settle()
    evacuated = _lose_host(cluster)
    cluster.hosts.behaviours[UUIDS[0], cluster.record(UUIDS[0]).attempt + 1] = "refused"
    cluster.evacuate(UUIDS[:1])
    cluster.settle()
    cluster.compare()
    if evacuated[1:]:
        cluster.rebuild(evacuated[1:])
        cluster.settle()


def _evacuate_and_delete(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.evacuate(_lose_host(cluster))
    cluster.work()
    cluster.delete(UUIDS[3:])
    cluster.settle()


def _moved(cluster: SimulatedCluster, uuids: list[str]) -> list[str]:
    """Return those at their destinations: all, but for those whose last claim expired."""
    return [uuid for uuid in uuids if cluster.record(uuid).status == "VERIFY_RESIZE"]


def _migrate(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.stop(UUIDS[:1])
    cluster.settle()
    cluster.migrate(UUIDS)
    cluster.settle()
    cluster.confirm(_moved(cluster, UUIDS[:3]))
    cluster.settle()


def _resize_and_revert(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.stop(UUIDS[:1])
    cluster.settle()
    cluster.resize(UUIDS[:2])
    cluster.migrate(UUIDS[2:])
    cluster.settle()
    cluster.revert(_moved(cluster, UUIDS[:3]))
    cluster.settle()


def _migrate_to(behaviours: dict) -> Callable[[SimulatedCluster], None]:
    def play(cluster: SimulatedCluster) -> None:
        _boot(cluster)
        cluster.hosts.behaviours.update(behaviours)
        cluster.migrate(UUIDS)
        cluster.settle()
        cluster.confirm(_moved(cluster, UUIDS))
        cluster.settle()

    return play


def _move_group(skipped_rounds: int | None) -> Callable[[SimulatedCluster], None]:
    """Move an affinity group of two requests and flavors; delete one member after some rounds of work and messages."""

    def play(cluster: SimulatedCluster) -> None:
        ttl_ms, cluster.ledger.ttl_ms = cluster.ledger.ttl_ms, FOREVER_MS  # for the boots, which have one host only
        cluster.build(UUIDS[:2], SPEC.with_values(**AFFINITY))
        cluster.settle()
        cluster.build(UUIDS[2:3], LARGE.with_values(**AFFINITY))
        cluster.settle()
        cluster.ledger.ttl_ms = ttl_ms
        cluster.migrate(UUIDS[:3])
        for _ in range(skipped_rounds or 0):
            cluster.work()
            cluster.hosts.deliver()
        if skipped_rounds is not None:
            cluster.delete(UUIDS[:1])
        cluster.settle()

    return play


def _delete_at_each_step(cluster: SimulatedCluster) -> None:
    """Delete one instance after each round of work and messages of a move."""
    while cluster.work() | cluster.hosts.deliver():
        alive = [uuid for uuid in UUIDS[:3] if cluster.record(uuid).status not in ("DELETING", "DELETED")]
        cluster.delete(alive[:1] or UUIDS[:1])
    cluster.delete(UUIDS[:3])  # a crash ends the rounds until its lease expires
    cluster.settle()


def _delete_moving(skipped_rounds: int) -> Callable[[SimulatedCluster], None]:
    def play(cluster: SimulatedCluster) -> None:
        _boot(cluster)
        cluster.resize(UUIDS[:2])
        cluster.migrate(UUIDS[2:])
        for _ in range(skipped_rounds):
            cluster.work()
            cluster.hosts.deliver()
        _delete_at_each_step(cluster)
        cluster.revert(_moved(cluster, UUIDS[3:]))
        cluster.settle()

    return play


def _delete_ending(cluster: SimulatedCluster) -> None:
    _boot(cluster)
    cluster.migrate(UUIDS)
    cluster.settle()
    cluster.revert(_moved(cluster, UUIDS[:2]))
    cluster.confirm(_moved(cluster, UUIDS[2:]))
    _delete_at_each_step(cluster)


def _delete_after(behaviours: dict, settled: bool) -> Callable[[SimulatedCluster], None]:
    def play(cluster: SimulatedCluster) -> None:
        cluster.hosts.behaviours.update(behaviours)
        cluster.build(UUIDS)
        if settled:
            cluster.settle()
        else:
            cluster.work()
        cluster.delete(UUIDS[:3])
        cluster.settle()

    return play


def _too_many(cluster: SimulatedCluster) -> None:
    cluster.build(uuid_list(13))
    cluster.settle()


REFUSALS = {(UUIDS[0], 1): "refused", (UUIDS[1], 1): "failed", (UUIDS[1], 2): "failed"}
HOPELESS = {(UUIDS[2], attempt): "failed" for attempt in (1, 2, 3)}
# Of the attempts of moves, which begin with the second.
MOVED_REFUSALS = {(UUIDS[0], 2): "refused", (UUIDS[1], 2): "failed", (UUIDS[3], 2): "lost"}
MOVED_HOPELESS = {(UUIDS[2], attempt): "failed" for attempt in (2, 3)}

STORIES = {
    "all goes well": CrashScenario(_boot, ["ACTIVE"] * 4),
    "hosts refuse and fail": CrashScenario(_boot_with(REFUSALS), ["ACTIVE"] * 4),
    "one has no luck": CrashScenario(_boot_with(HOPELESS), ["ACTIVE", "ACTIVE", "ERROR", "ACTIVE"]),
    "a message is lost": CrashScenario(_boot_with({(UUIDS[0], 1): "lost"}), ["ACTIVE"] * 4),
    "a message is lost once": CrashScenario(_boot_with({(UUIDS[0], 1): "lost once"}), ["ACTIVE"] * 4),
    "a host is silent, then speaks": CrashScenario(_silence, ["ACTIVE"] * 4),
    "deleted when built": CrashScenario(_delete_after({}, True), ["DELETED"] * 3 + ["ACTIVE"]),
    "deleted while built": CrashScenario(_delete_after({}, False), ["DELETED"] * 3 + ["ACTIVE"]),
    "deleted after refusals": CrashScenario(
        _delete_after({**REFUSALS, **HOPELESS}, False), ["DELETED"] * 3 + ["ACTIVE"]
    ),
    "stopped, some started, one deleted": CrashScenario(_stop_and_start, ["ACTIVE", "ACTIVE", "DELETED", "SHUTOFF"]),
    "rebooted and rebuilt": CrashScenario(_reboot_and_rebuild, ["ACTIVE", "ACTIVE", "DELETED", "SHUTOFF"]),
    "shelved, some unshelved, one deleted": CrashScenario(
        _shelve_and_unshelve, ["ACTIVE", "ACTIVE", "DELETED", "SHELVED_OFFLOADED"]
    ),
    "evacuated, one of them off": CrashScenario(_evacuate, ["ACTIVE"] * 3 + ["SHUTOFF"]),
    "evacuated, one deleted meanwhile": CrashScenario(_evacuate_and_delete, ["ACTIVE"] * 3 + ["DELETED"]),
    "migrated, one stopped, three confirmed": CrashScenario(
        _migrate, ["SHUTOFF", "ACTIVE", "ACTIVE", "VERIFY_RESIZE"], sample=13
    ),
    "resized, one stopped, three reverted": CrashScenario(
        _resize_and_revert, ["SHUTOFF", "ACTIVE", "ACTIVE", "VERIFY_RESIZE"], sample=13
    ),
    "destinations refuse and fail": CrashScenario(
        _migrate_to({**MOVED_REFUSALS, **MOVED_HOPELESS}), ["ACTIVE"] * 4, sample=13
    ),
    "deleted while moved": CrashScenario(_delete_moving(0), ["DELETED"] * 3 + ["ACTIVE"], sample=13),
    "deleted while built elsewhere": CrashScenario(_delete_moving(2), ["DELETED"] * 3 + ["ACTIVE"], sample=13),
    "deleted while reverted or confirmed": CrashScenario(_delete_ending, ["DELETED"] * 3 + ["ACTIVE"], sample=13),
    "a group moves": CrashScenario(_move_group(None), ["VERIFY_RESIZE"] * 3, sample=13),
    "a group finds no host": CrashScenario(
        _move_group(None), ["ACTIVE"] * 3, sample=13, capacities={"h1/n": 4, "h2/n": 3}
    ),
    "a group moves, one deleted": CrashScenario(
        _move_group(1), ["DELETED", "VERIFY_RESIZE", "VERIFY_RESIZE"], sample=13
    ),
    "no room": CrashScenario(_too_many, ["ERROR"] * 13),
}
