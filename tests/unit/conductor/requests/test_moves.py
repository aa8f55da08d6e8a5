# SPDX-License-Identifier: Apache-2.0
"""Instances that are migrated, resized, confirmed and reverted: statuses, claims, quota, and failures on the way."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from conductor.instances import get_instances, list_hosts
from conductor.reconciliation.vouching import is_named
from conductor.reports import intake
from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.resources import names
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.ledger import PARTITION
from tests.support.conductor.simulated_cluster import CTXT, LIMITS, SPEC, SimulatedCluster, migration_of, uuid_list
from tests.unit.conductor.moving_servers import HOUR_MS, NODES, UUIDS, make_cluster


@pytest.fixture
def cluster() -> SimulatedCluster:
    return make_cluster()


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_migrated_instances_are_on_other_hosts_and_confirmed(is_duplicated: bool) -> None:
    cluster = make_cluster()
    cluster.hosts.duplicate = is_duplicated
    cluster.migrate(UUIDS)
    assert cluster.statuses(UUIDS) == ["RESIZE"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    assert [cluster.migration(uuid).source_host for uuid in UUIDS] == ["h1/n", "h2/n"]
    for uuid in UUIDS:
        assert (
            cluster.record(uuid).host == cluster.migration(uuid).destination_host != cluster.migration(uuid).source_host
        )
    cluster.check(UUIDS)
    cluster.confirm(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["confirmed"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_reverted_instances_run_on_their_sources_again(is_duplicated: bool) -> None:
    cluster = make_cluster()
    cluster.hosts.duplicate = is_duplicated
    cluster.resize(UUIDS)
    cluster.settle()
    cluster.check(UUIDS)
    cluster.revert(UUIDS)
    assert cluster.statuses(UUIDS) == ["REVERT_RESIZE"] * 2
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).host for uuid in UUIDS] == ["h1/n", "h2/n"]
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["reverted"] * 2
    cluster.check(UUIDS)


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_shown_host_is_the_one_where_the_server_runs(cluster: SimulatedCluster, end: str) -> None:
    def check_shown_host() -> None:
        (instance,) = get_instances(make_conductor(cluster.store), UUIDS[:1]).instances
        running = {cluster.hosts.guests[ref] for ref in cluster.hosts.running_guests_of(UUIDS[0])}
        assert running <= {instance.host}
        shown.append(instance.host)

    shown: list[str | None] = []
    for change in (cluster.migrate, getattr(cluster, end)):
        change(UUIDS[:1])
        check_shown_host()
        while cluster.work() | cluster.hosts.deliver():
            check_shown_host()
    assert shown[0] == "h1/n" and cluster.record(UUIDS[0]).host == shown[-1]
    assert list(dict.fromkeys(shown)) == ["h1/n", "h2/n"] and (shown[-1] == "h1/n") == (end == "revert")


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_stopped_server_never_runs_while_it_moves(cluster: SimulatedCluster, end: str) -> None:
    cluster.stop(UUIDS[:1])
    cluster.settle()
    cluster.migrate(UUIDS[:1])
    while cluster.work() | cluster.hosts.deliver():
        assert cluster.hosts.running_guests_of(UUIDS[0]) == []
    getattr(cluster, end)(UUIDS[:1])
    while cluster.work() | cluster.hosts.deliver():
        assert cluster.hosts.running_guests_of(UUIDS[0]) == []
    assert cluster.statuses(UUIDS) == ["SHUTOFF", "ACTIVE"]
    cluster.check(UUIDS)
    cluster.start(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def test_resized_server_counts_the_larger_flavor_until_it_is_confirmed(cluster: SimulatedCluster) -> None:
    def used() -> int:
        return cluster.store.usage("project")["VCPU"]

    cluster.quota["VCPU"] = 2
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.QuotaExceeded, match="VCPU"):
        cluster.resize(UUIDS[:1])
    assert cluster.store.get(UUIDS) == before and not cluster.store.migrations([migration_of(UUIDS[0])])
    cluster.quota["VCPU"] = 3
    cluster.resize(UUIDS[:1])
    assert used() == 3
    cluster.settle()
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    assert (used(), cluster.record(UUIDS[0]).flavor) == (3, "large")
    cluster.check(UUIDS)
    # A smaller one is counted only when it is confirmed, and a reverted one not at all
    cluster.resize(UUIDS[:1], SPEC, migrations=[migration_of(UUIDS[0], 2)])
    cluster.settle()
    assert used() == 3
    cluster.revert(UUIDS[:1])
    cluster.settle()
    assert (used(), cluster.record(UUIDS[0]).flavor) == (3, "large")
    cluster.resize(UUIDS[:1], SPEC, migrations=[migration_of(UUIDS[0], 3)])
    cluster.settle()
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    assert (used(), cluster.record(UUIDS[0]).flavor) == (2, "tiny")
    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.store.usage("project") == {"recorded_instances": 2}
    cluster.check(UUIDS)


def test_move_without_a_destination_returns_to_its_source_with_the_reason(cluster: SimulatedCluster) -> None:
    cluster.resize(UUIDS[:1], objects.RequestSpec.of(resources={"VCPU": 9}, flavor="huge"))
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.record(UUIDS[0]).host) == (["ACTIVE"] * 2, "h1/n")
    assert cluster.migration(UUIDS[0]).status == "error"
    assert "No valid host" in (cluster.migration(UUIDS[0]).reason or "")
    assert cluster.store.usage("project")["VCPU"] == 2
    cluster.check(UUIDS)
    # It may move again
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], 2)])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE", "ACTIVE"]


def test_reasons_of_all_attempts_are_in_the_migration(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours |= {(UUIDS[0], 2): "failed", (UUIDS[0], 3): "refused"}
    cluster.migrate(UUIDS[:1])
    cluster.settle()
    migration = cluster.migration(UUIDS[0])
    assert (migration.status, cluster.statuses(UUIDS)) == ("error", ["ACTIVE"] * 2)
    ended = [(entry["attempt"], entry["host"], entry["outcome"]) for entry in migration.history]
    assert ended == [(2, "h2/n", "failed"), (3, "h3/n", "refused")]
    assert "the spawn failed" in (migration.reason or "") and "no room by the host's own view" in (
        migration.reason or ""
    )
    cluster.check(UUIDS)


def test_window_confirms_what_nobody_ended() -> None:
    cluster = make_cluster(replace(LIMITS, resize_confirm_ms=HOUR_MS))
    cluster.migrate(UUIDS)
    cluster.settle(HOUR_MS // 2)
    assert cluster.statuses(UUIDS) == ["VERIFY_RESIZE"] * 2
    cluster.revert(UUIDS[:1])
    cluster.settle(2 * HOUR_MS)
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.migration(uuid).status for uuid in UUIDS] == ["reverted", "confirmed"]
    cluster.check(UUIDS)


def fence(cluster: SimulatedCluster, host: str) -> None:
    """Fence a host, which never answers again."""
    cluster.hosts.behaviours[host] = "lost"
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.hosts.guests = {ref: node for ref, node in cluster.hosts.guests.items() if not node.startswith(f"{host}/")}


def test_fenced_source_of_a_finished_move_counts_as_confirmed(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS[:1])
    cluster.settle()
    fence(cluster, "h1")
    cluster.compare()
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.migration(UUIDS[0]).status) == (["ACTIVE"] * 2, "confirmed")
    cluster.check(UUIDS)


def test_fenced_destination_of_a_finished_move_returns_to_the_source(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.settle()
    fence(cluster, "h3")
    cluster.compare()
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.record(UUIDS[0]).host) == (["ACTIVE"] * 2, "h1/n")
    migration = cluster.migration(UUIDS[0])
    assert migration.status == "error" and "was fenced" in (migration.reason or "")
    cluster.check(UUIDS)


@pytest.mark.parametrize("end", ["confirm", "revert", "delete"])
def test_end_of_a_move_whose_source_is_fenced_meanwhile(cluster: SimulatedCluster, end: str) -> None:
    cluster.migrate(UUIDS[:1])
    cluster.settle()
    fence(cluster, "h1")
    getattr(cluster, end)(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED" if end == "delete" else "ACTIVE", "ACTIVE"]
    assert cluster.migration(UUIDS[0]).status == {"confirm": "confirmed", "revert": "error", "delete": "cancelled"}[end]
    cluster.check(UUIDS)


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_end_of_a_move_whose_source_the_store_forgot_and_its_host_never_reports(end: str) -> None:
    # Given a store without the claim of the source, whose host is fenced before it audits
    cluster = SimulatedCluster(NODES)
    cluster.conductor()
    before = copy.deepcopy(cluster.ledger.store.state)
    cluster.build(UUIDS)
    cluster.settle()
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.settle()
    cluster.ledger.store.state = before
    cluster.ledger.hold(UUIDS[0], "h3/n", attempt=2)
    cluster.ledger.hold(UUIDS[1], "h2/n")
    forget(cluster, before, reporting=["h2", "h3"])
    fence(cluster, "h1")
    # When the move ends
    getattr(cluster, end)(UUIDS[:1])
    cluster.settle()
    # Then the guest at the destination is kept
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert cluster.hosts.running_guests_of(UUIDS[0]) == [(UUIDS[0], 2)]
    assert cluster.migration(UUIDS[0]).status == {"confirm": "confirmed", "revert": "error"}[end]


def test_source_that_is_fenced_before_the_move_begins_ends_the_server_and_it_is_not_built_again(
    cluster: SimulatedCluster,
) -> None:
    builds = [cast for cast in cluster.hosts.casts if cast[0] == "build"]
    cluster.migrate(UUIDS[:1])
    cluster.lose_host("h1")
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.migration(UUIDS[0]).status) == (["ERROR", "ACTIVE"], "error")
    assert "its claim was fenced" in cluster.reason(UUIDS[0]).lower()
    assert [cast for cast in cluster.hosts.casts if cast[0] == "build"] == builds
    cluster.check(UUIDS)
    cluster.evacuate(UUIDS[:1], series=7)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def test_source_that_is_fenced_before_it_stopped_ends_the_server(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.migrate(UUIDS[:1])
    cluster.settle(600_000)
    assert cluster.statuses(UUIDS) == ["RESIZE", "ACTIVE"]
    assert len(cluster.hosts.guests_of(UUIDS[0])) == 1, "nothing was built elsewhere"
    fence(cluster, "h1")
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ERROR", "ACTIVE"]
    assert "h1/n ended during the move: its claim was fenced" in cluster.reason(UUIDS[0])
    cluster.check(UUIDS)
    # It is a server of the fenced host, and evacuated with the others of that host
    assert cluster.record(UUIDS[0]).host == "h1/n"
    cluster.lose_host("h1")
    cluster.evacuate(UUIDS[:1], series=7)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    cluster.check(UUIDS)


def test_evacuation_of_a_resized_server_shows_its_flavor(cluster: SimulatedCluster) -> None:
    cluster.resize(UUIDS[:1], objects.RequestSpec.of(resources={"VCPU": 3}, flavor="huge"))
    cluster.settle()
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    cluster.lose_host((cluster.record(UUIDS[0]).host or "").partition("/")[0])
    cluster.compare()
    cluster.evacuate(UUIDS[:1], series=7)
    cluster.settle()
    evacuation = cluster.record(UUIDS[0]).migration
    assert evacuation is not None
    assert (evacuation.kind, evacuation.old_flavor, evacuation.new_flavor) == ("evacuation", "huge", "huge")


def test_silent_destination_is_ended_before_the_server_returns(cluster: SimulatedCluster) -> None:
    """Given a destination that confirmed its claim and went silent, then the server waits: never a second copy."""
    cluster.hosts.behaviours["h2"] = "mute"
    cluster.migrate(UUIDS[:1], host="h2")
    cluster.settle(60_000)
    assert cluster.hosts.running_guests_of(UUIDS[0]) == [(UUIDS[0], 2)]
    cluster.hosts.behaviours["h2"] = "lost"
    cluster.settle(1_200_000)
    assert (cluster.statuses(UUIDS[:1]), cluster.migration(UUIDS[0]).status) == (["RESIZE"], "reverting")
    assert "claim kept" in (cluster.migration(UUIDS[0]).reason or "")
    assert cluster.hosts.running_guests_of(UUIDS[0]) == [(UUIDS[0], 2)]
    # When it answers again, then it ends its guest, and the source runs
    del cluster.hosts.behaviours["h2"]
    cluster.settle()
    assert (cluster.statuses(UUIDS[:1]), cluster.record(UUIDS[0]).host) == (["ACTIVE"], "h1/n")
    cluster.check(UUIDS)


def test_silent_destination_that_is_fenced_returns_the_server(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h3"] = "mute"
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.settle(60_000)
    fence(cluster, "h3")
    cluster.settle()
    assert (cluster.statuses(UUIDS[:1]), cluster.record(UUIDS[0]).host) == (["ACTIVE"], "h1/n")
    cluster.check(UUIDS)


@pytest.mark.parametrize("has_stopped", [False, True], ids=["before its source stops", "after its source stopped"])
def test_forgotten_begin_of_a_move_does_not_keep_the_server_from_returning(
    cluster: SimulatedCluster, has_stopped: bool
) -> None:
    """Given a store that lost the role of the source and the destination's claim, then the server runs again there."""
    before = copy.deepcopy(cluster.ledger.store.state)
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.work()
    if has_stopped:
        cluster.hosts.deliver()
    forget(cluster, before)
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.record(UUIDS[0]).host) == (["ACTIVE"] * 2, "h1/n")
    assert cluster.migration(UUIDS[0]).status == "error"
    cluster.check(UUIDS)


@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_forgotten_resize_before_a_forgotten_move_is_counted(cluster: SimulatedCluster, end: str) -> None:
    # Given a server that was resized and then migrated, and records from before both
    records = cluster.copy_records()
    cluster.resize(UUIDS[:1], objects.RequestSpec.of(resources={"VCPU": 2}, flavor="huge"))
    cluster.settle()
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    cluster.migrate(UUIDS[:1], migrations=[migration_of(UUIDS[0], 2)])
    cluster.settle()
    cluster.restore_records(records)
    # When the move is found, and ends
    cluster.compare()
    cluster.settle()
    assert (cluster.record(UUIDS[0]).status, cluster.migration(UUIDS[0]).kind) == ("VERIFY_RESIZE", "migration")
    getattr(cluster, end)(UUIDS[:1])
    cluster.settle()
    # Then the record has what its claim has
    record = cluster.record(UUIDS[0])
    assert (record.status, record.amounts) == ("ACTIVE", {"instances": 1, "VCPU": 2})
    cluster.check(UUIDS)


def test_deletion_of_a_moving_server_whose_source_the_store_forgot_ends_soon(cluster: SimulatedCluster) -> None:
    # Given a store that lost the begin of a move, and records that may have lost attempts
    before = copy.deepcopy(cluster.ledger.store.state)
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.work()
    forget(cluster, before)
    cluster.store.begin_epoch()
    # When the server is deleted
    cluster.delete(UUIDS[:1])
    cluster.settle(10_000)
    # Then the report of its source ends the deletion
    assert cluster.statuses(UUIDS) == ["DELETED", "ACTIVE"]
    cluster.check(UUIDS)


def test_forgotten_return_leaves_the_server_on_its_source(cluster: SimulatedCluster) -> None:
    """Given records from before the destination reported, then no alternate is built next to the running source."""
    uuid = UUIDS[0]
    cluster.migrate([uuid])
    advance_to(cluster, uuid, SagaStep.WAIT)
    records = cluster.copy_records()
    cluster.settle()
    cluster.revert([uuid])
    advance_to(cluster, uuid, SagaStep.END_MOVE)
    cluster.restore_records(records)
    cluster.settle()
    assert (cluster.statuses(UUIDS), cluster.record(uuid).host) == (["ACTIVE"] * 2, "h1/n")
    assert cluster.migration(uuid).status == "error"
    assert "may have lost" in (cluster.migration(uuid).reason or "")
    cluster.check(UUIDS)


def test_later_destination_that_the_store_forgot_keeps_the_server(cluster: SimulatedCluster) -> None:
    # Given a server on the alternate of a first destination, and records from before that
    uuid = UUIDS[0]
    records = move_to_alternate(cluster, uuid, SagaStep.WAIT)
    host = cluster.record(uuid).host
    # When the first destination is silent, according to these records
    cluster.restore_records(records)
    cluster.settle()
    # Then the move waits for confirm or revert there
    assert (cluster.statuses([uuid]), cluster.record(uuid).host) == (["VERIFY_RESIZE"], host)
    cluster.check(UUIDS)


def test_deletion_ends_an_alternate_that_the_store_forgot(cluster: SimulatedCluster) -> None:
    # Given a server that is to return from the alternate of a destination, and records from before
    uuid = UUIDS[0]
    records = move_to_alternate(cluster, uuid, SagaStep.STOP_SOURCE)
    cluster.revert([uuid])
    cluster.work()
    cluster.restore_records(records)
    # When these records hear of the stop for its return, and of the refusal, and the server is deleted
    while cluster.hosts.deliver():
        pass
    report = objects.BuildReport.of(
        host=names.host_of(cluster.record(uuid).host or ""),
        uuids=[uuid],
        attempts=[2],
        outcomes=["refused"],
        reasons=["it refused"],
    )
    intake.record(cluster.conductors[0], CTXT, report)
    cluster.delete([uuid])
    cluster.settle()
    # Then nothing of it is left
    assert cluster.statuses(UUIDS) == ["DELETED", "ACTIVE"]
    assert cluster.hosts.running_guests_of(uuid) == []
    cluster.check(UUIDS)


def move_to_alternate(cluster: SimulatedCluster, uuid: str, step: SagaStep) -> dict[str, Any]:
    """Move a server whose first destination refuses it; return the records from when it was in ``step``."""
    cluster.hosts.behaviours[uuid, 2] = "refused"
    cluster.migrate([uuid])
    advance_to(cluster, uuid, step)
    records = cluster.copy_records()
    cluster.settle()
    return records


def advance_to(cluster: SimulatedCluster, uuid: str, step: SagaStep) -> None:
    """Let conductor and hosts work in turn until a record is in a step."""
    for proceed in (cluster.work, cluster.hosts.deliver) * 20:
        if cluster.record(uuid).step == step:
            return
        proceed()
    raise AssertionError(cluster.record(uuid))


def forget(cluster: SimulatedCluster, state: Any, reporting: Sequence[str] = ("h1", "h2", "h3")) -> None:
    """Restore a store to a state, in a new epoch, and let hosts report what they ran then."""
    store = cluster.ledger.store
    state.epoch, state.position = store.state.epoch, store.state.position
    store.state = state
    store.name_hosts(store.begin_epoch(), [], complete=True)
    for host in reporting:
        cluster.ledger.audit(host)


def test_hosts_of_both_ends_are_listed_and_both_claims_are_named(cluster: SimulatedCluster) -> None:
    cluster.migrate(UUIDS[:1], host="h3")
    cluster.settle()
    cluster.delete(UUIDS[1:])
    cluster.settle()
    assert list_hosts(cluster.store, PARTITION).hosts == ["h1", "h3"]
    record = cluster.record(UUIDS[0])
    assert is_named(record, 2, "h3") and is_named(record, 1, "h1")
    assert not any(is_named(record, *claim) for claim in ((1, "h3"), (2, "h1"), (3, "h3")))
    cluster.confirm(UUIDS[:1])
    cluster.settle()
    assert list_hosts(cluster.store, PARTITION).hosts == ["h3"]
    assert not is_named(cluster.record(UUIDS[0]), 1, "h1")


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("end", ["confirm", "revert"])
def test_member_of_an_anti_affinity_group_is_resized_on_its_own_host(most: int, end: str) -> None:
    cluster = SimulatedCluster({"h1/n": 6, "h2/n": 6})
    cluster.conductor()
    group = objects.ServerGroup.of(id="g", project="p", policy="anti-affinity", max_per_host=most)
    cluster.scheduler.groups["g"] = group
    members = uuid_list(2 * most)
    cluster.build(members, SPEC.with_values(group_id="g"))
    cluster.settle()
    before = [cluster.record(uuid).host for uuid in members]
    cluster.resize(members)  # each has no other place, because all others have as many members
    cluster.settle()
    assert cluster.statuses(members) == ["VERIFY_RESIZE"] * len(members)
    assert [cluster.record(uuid).host for uuid in members] == before
    assert {cluster.ledger.free(node) for node in ("h1/n", "h2/n")} == {6 - 3 * most}  # both claims of each
    cluster.check(members)
    getattr(cluster, end)(members)
    cluster.settle()
    assert cluster.statuses(members) == ["ACTIVE"] * len(members)
    assert cluster.ledger.store.group_hosts("g") == {"h1/n": most, "h2/n": most}
    cluster.check(members)


@pytest.mark.parametrize("end", ["confirm", "revert"])
@pytest.mark.parametrize(("capacity", "host"), [(2, "h1/n"), (1, "h2/n")], ids=["own host", "own host is full"])
def test_resize_of_extra_specs_only_claims_both_ends(capacity: int, host: str, end: str) -> None:
    cluster = SimulatedCluster({"h1/n": capacity, "h2/n": 1})
    cluster.conductor()
    cluster.build(UUIDS[:1])
    cluster.settle()
    cluster.resize(UUIDS[:1], SPEC.with_values(flavor="tiny.pinned", extra_specs={"hw:cpu_policy": "shared"}))
    assert cluster.store.usage("project")["VCPU"] == 1  # the larger of both
    cluster.settle()
    record = cluster.record(UUIDS[0])
    assert (record.status, record.host) == ("VERIFY_RESIZE", host)
    assert (cluster.ledger.free("h1/n"), cluster.ledger.free("h2/n")) == (0, 1 if host == "h1/n" else 0)
    cluster.check(UUIDS[:1])
    getattr(cluster, end)(UUIDS[:1])
    cluster.settle()
    ended = cluster.record(UUIDS[0])
    is_confirmed = end == "confirm"
    assert (ended.status, ended.host) == ("ACTIVE", host if is_confirmed else "h1/n")
    assert (ended.flavor, ended.spec is not None) == (("tiny.pinned", True) if is_confirmed else (None, False))
    assert cluster.ledger.free("h1/n") + cluster.ledger.free("h2/n") == capacity
    cluster.check(UUIDS[:1])
