# SPDX-License-Identifier: Apache-2.0
"""Live migrations with real agents: the instance runs on at most one host, and each end frees exactly one claim."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor.migrations import list_copies
from conductor.saga.step_context import SagaLimits
from rpcapi import errors
from tests.support.agent.rig import AgentKilled
from tests.support.conductor.live_cluster import (
    CONVERGES,
    INSTANCE,
    MIGRATION,
    LiveCluster,
    make_cluster,
)
from tests.support.conductor.simulated_cluster import CTXT, LIMITS


@pytest.fixture
def cluster(tmp_path: Path) -> LiveCluster:
    return make_cluster(tmp_path)[0]


def is_copying(cluster: LiveCluster) -> bool:
    return cluster.record(INSTANCE).step == "copy" and cluster.migration.status == "migrating"


def set_profile(cluster: LiveCluster, **values: float) -> None:
    for rig in cluster.hosts.rigs.values():
        rig.profile = replace(CONVERGES, **values)


def begin(cluster: LiveCluster, **profile: float) -> None:
    """Begin a copy that does not converge, and return when it is under way."""
    set_profile(cluster, dirty_rate=100.0, **profile)
    cluster.live_migrate()
    cluster.settle_until(lambda: is_copying(cluster))
    assert is_copying(cluster)


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_instance_moves_while_it_runs(cluster: LiveCluster, is_duplicated: bool) -> None:
    cluster.hosts.duplicate = is_duplicated
    cluster.live_migrate()
    assert cluster.record(INSTANCE).status == "MIGRATING"
    cluster.settle_until(lambda: is_copying(cluster))
    assert cluster.hosts.running(INSTANCE) == ["h1"], "it runs while it is copied"
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h2")


def test_memory_is_copied_without_a_boot(cluster: LiveCluster) -> None:
    started_ms = cluster.now_ms
    cluster.live_migrate()
    cluster.settle()
    (guest,) = cluster.hosts.rigs["h2"].guests().values()
    assert started_ms <= guest.running_at_ms < started_ms + 10_000, "the guest exists since it was prepared"


def test_target_is_the_only_destination(cluster: LiveCluster) -> None:
    cluster.live_migrate("h3")
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h3")


@pytest.mark.parametrize("target", ["h1", "h1/n"])
def test_target_that_is_the_source_is_rejected(cluster: LiveCluster, target: str) -> None:
    with pytest.raises(errors.InvalidRequest, match="another host is required"):
        cluster.live_migrate(target)
    assert cluster.record(INSTANCE).migration is None


def test_target_that_no_host_is_is_rejected(cluster: LiveCluster) -> None:
    with pytest.raises(errors.UnknownHost):
        cluster.live_migrate("h9")
    assert cluster.record(INSTANCE).migration is None


def test_stopped_instance_is_not_migrated_live(cluster: LiveCluster) -> None:
    cluster.stop([INSTANCE])
    cluster.settle()
    with pytest.raises(errors.InstanceConflict, match="it must be ACTIVE to be migrated live"):
        cluster.live_migrate()


def test_check_at_the_source_that_fails_leaves_it_there(cluster: LiveCluster) -> None:
    cluster.hosts.rigs["h1"].profile = replace(CONVERGES, migration_check_failure_rate=1.0)
    cluster.live_migrate()
    cluster.settle()
    cluster.check_end("ACTIVE", "error", "h1")
    assert "the check at its source failed" in cluster.migration.reason


@pytest.mark.parametrize("phase", ["migration_check_failure_rate", "post_migration_failure_rate", "refusal_rate"])
def test_destination_that_fails_is_replaced_or_left(cluster: LiveCluster, phase: str) -> None:
    cluster.hosts.rigs["h2"].profile = replace(CONVERGES, **{phase: 1.0})
    cluster.live_migrate()
    cluster.settle()
    if phase == "post_migration_failure_rate":
        cluster.check_end("ACTIVE", "error", "h1")
        assert "its destination failed after the copy" in cluster.migration.reason
    else:
        cluster.check_end("ACTIVE", "completed", "h3")
        assert [entry["host"] for entry in cluster.migration.history] == ["h2/n"]


def test_each_destination_is_tried_once_then_it_stays(cluster: LiveCluster) -> None:
    set_profile(cluster, copy_failure_rate=1.0)
    cluster.live_migrate()
    cluster.settle()
    cluster.check_end("ACTIVE", "error", "h1")
    assert [entry["host"] for entry in cluster.migration.history] == ["h2/n", "h3/n"]


@pytest.mark.parametrize(("retries", "hosts"), [(0, ["h2/n"]), (1, ["h2/n", "h3/n"])])
def test_retries_are_limited(tmp_path: Path, retries: int, hosts: list[str]) -> None:
    limits: SagaLimits = replace(LIMITS, migrate_max_retries=retries)
    cluster, _ = make_cluster(tmp_path, limits)
    set_profile(cluster, copy_failure_rate=1.0)
    cluster.live_migrate()
    cluster.settle()
    cluster.check_end("ACTIVE", "error", "h1")
    assert [entry["host"] for entry in cluster.migration.history] == hosts
    assert "simulated copy failure" in cluster.migration.reason


# -- abort, force ------------------------------------------------------------------------------------------------------


def test_abort_leaves_it_running_at_its_source(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.abort([MIGRATION])
    cluster.abort([MIGRATION])
    cluster.settle()
    cluster.check_end("ACTIVE", "cancelled", "h1")
    cluster.abort([MIGRATION])
    cluster.check_end("ACTIVE", "cancelled", "h1")


@pytest.mark.parametrize("step", ["begin_move", "destination", "prepare_copy", "copy"])
def test_abort_in_each_step(cluster: LiveCluster, step: str) -> None:
    set_profile(cluster, dirty_rate=100.0)
    cluster.live_migrate()
    if step != "begin_move":
        cluster.run_to(step)
    cluster.abort([MIGRATION])
    cluster.settle()
    cluster.check_end("ACTIVE", "cancelled", "h1")


def test_forced_migration_completes(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.settle(60_000)
    assert is_copying(cluster), "it does not converge by itself"
    cluster.force_complete([MIGRATION])
    cluster.force_complete([MIGRATION])
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h2")


@pytest.fixture
def post_copy(tmp_path: Path) -> LiveCluster:
    """A cluster that permits post-copy, with a copy under way."""
    cluster, _ = make_cluster(tmp_path, replace(LIMITS, permits_post_copy=True))
    begin(cluster)
    return cluster


def test_forced_migration_completes_by_post_copy(post_copy: LiveCluster) -> None:
    post_copy.force_complete([MIGRATION])
    post_copy.settle_until(lambda: post_copy.hosts.running(INSTANCE) == ["h2"])
    assert post_copy.migration.copy_phase == "post-copy", "it runs before its memory is copied"
    post_copy.settle()
    post_copy.check_end("ACTIVE", "completed", "h2")


def test_source_that_is_restarted_in_post_copy_loses_it(post_copy: LiveCluster) -> None:
    post_copy.force_complete([MIGRATION])
    post_copy.settle_until(lambda: post_copy.hosts.running(INSTANCE) == ["h2"])
    post_copy.hosts.start("h1")
    post_copy.settle()
    record = post_copy.record(INSTANCE)
    assert (record.status, post_copy.migration.status) == ("ERROR", "error")
    assert "Its memory was lost in post-copy" in (record.reason or "")
    assert post_copy.hosts.running(INSTANCE) in ([], ["h2"]), "never the old copy"
    assert post_copy.ledger.live() == {INSTANCE: ("h2/n", record.attempt, "confirmed")}


def test_progress_is_read_from_the_source(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.now_ms += 5_000
    page = list_copies(cluster.reliable_conductor(), CTXT, [MIGRATION])
    assert (page.migrations, page.phases, page.total_mb, page.remaining_mb) == (
        [MIGRATION],
        ["running"],
        [1024],
        [1024],
    )
    assert page.copied_mb[0] >= 500
    cluster.hosts.kill("h1")
    assert list_copies(cluster.reliable_conductor(), CTXT, [MIGRATION]).migrations == []


# -- bad input ---------------------------------------------------------------------------------------------------------


def test_abort_and_force_of_what_is_no_uuid_name_a_migration(cluster: LiveCluster) -> None:
    for request in (cluster.abort, cluster.force_complete):
        with pytest.raises(errors.InvalidName, match="is not the uuid of a migration"):
            request(["m"])


def test_abort_and_force_of_a_completed_migration_are_refused(cluster: LiveCluster) -> None:
    cluster.live_migrate()
    cluster.settle()
    for request in (cluster.abort, cluster.force_complete):
        with pytest.raises(errors.InstanceConflict, match="is completed"):
            request([MIGRATION])
    cluster.check_end("ACTIVE", "completed", "h2")


def test_force_before_the_copy_began_or_after_an_abort_is_refused(cluster: LiveCluster) -> None:
    set_profile(cluster, dirty_rate=100.0)
    cluster.live_migrate()
    with pytest.raises(errors.InstanceConflict, match="while its server is copied"):
        cluster.force_complete([MIGRATION])
    cluster.settle_until(lambda: is_copying(cluster))
    cluster.abort([MIGRATION])
    with pytest.raises(errors.InstanceConflict, match="being aborted"):
        cluster.force_complete([MIGRATION])


def test_unknown_migration_is_refused(cluster: LiveCluster) -> None:
    for request in (cluster.abort, cluster.force_complete):
        with pytest.raises(errors.UnknownMigration):
            request([MIGRATION])
        with pytest.raises(errors.InvalidRequest):
            request(["x"])


def test_second_migration_of_a_moving_instance_is_refused_and_a_repeated_one_changes_nothing(
    cluster: LiveCluster,
) -> None:
    begin(cluster)
    before = cluster.record(INSTANCE)
    cluster.live_migrate()
    assert cluster.record(INSTANCE).step == before.step
    with pytest.raises(errors.InstanceConflict):
        cluster.stop([INSTANCE])
    with pytest.raises(errors.InstanceConflict):
        cluster.reboot([INSTANCE])


# -- deaths, deletions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["begin_move", "destination", "prepare_copy", "copy", "switch", "end_source"])
def test_deletion_in_each_step(cluster: LiveCluster, step: str) -> None:
    cluster.live_migrate()
    if step != "begin_move":
        cluster.run_to(step)
    cluster.delete([INSTANCE])
    cluster.settle()
    cluster.check_end("DELETED", "cancelled", None)
    assert cluster.hosts.guests_of(INSTANCE) == []


def test_source_agent_that_is_restarted_during_the_copy_fails_it_there(cluster: LiveCluster) -> None:
    begin(cluster)
    set_profile(cluster)
    cluster.hosts.start("h1")
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h3")
    assert "restarted" in cluster.migration.history[0]["reason"]


def test_restart_of_the_destination_agent_does_not_interrupt_the_copy(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.hosts.start("h2")
    cluster.settle(60_000)
    assert is_copying(cluster)
    cluster.force_complete([MIGRATION])
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h2")


def test_destination_that_lost_the_guest_with_its_machine_is_replaced(cluster: LiveCluster) -> None:
    begin(cluster)
    set_profile(cluster)
    cluster.hosts.kill("h2")
    cluster.hosts.lose_guests("h2")
    cluster.hosts.start("h2")
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h3")


def test_source_that_dies_during_the_copy_is_awaited_until_it_is_fenced(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.hosts.kill("h1")
    cluster.settle(600_000)
    assert cluster.record(INSTANCE).status == "MIGRATING"
    assert cluster.hosts.running(INSTANCE) == ["h1"]
    cluster.fence("h1")
    cluster.settle()
    record = cluster.record(INSTANCE)
    assert (record.status, cluster.migration.status) == ("ERROR", "error")
    assert cluster.ledger.live() == {}


def test_source_that_dies_and_returns_fails_the_copy(cluster: LiveCluster) -> None:
    begin(cluster)
    set_profile(cluster)
    cluster.hosts.kill("h1")
    cluster.settle(600_000)
    cluster.hosts.start("h1")
    cluster.settle()
    cluster.check_end("ACTIVE", "completed", "h3")


def test_destination_that_dies_before_the_switch_is_left_when_it_is_fenced(cluster: LiveCluster) -> None:
    begin(cluster)
    cluster.hosts.kill("h2")
    set_profile(cluster)
    cluster.settle(60_000)
    cluster.fence("h2")
    cluster.settle()
    record = cluster.record(INSTANCE)
    assert record.status in ("ACTIVE", "ERROR")
    if record.status == "ACTIVE":
        assert len(cluster.hosts.running(INSTANCE)) == 1
    assert cluster.ledger.problems() == []


@pytest.mark.parametrize("returns", [True, False], ids=["returns", "fenced"])
def test_destination_that_dies_after_it_released_the_claim_is_to_say_whether_it_ran_the_guest(
    cluster: LiveCluster, returns: bool
) -> None:
    # Given a guest that does not continue at its destination, whose agent dies before it has reported that
    set_profile(cluster, post_migration_failure_rate=1.0)
    release = cluster.claims.release_claims

    def release_and_die(*arguments: Any) -> None:
        release(*arguments)
        raise AgentKilled

    cluster.claims.release_claims = release_and_die
    cluster.live_migrate()
    cluster.settle()
    assert (cluster.hosts.dead, cluster.record(INSTANCE).status) == ({"h2"}, "MIGRATING")
    cluster.claims.release_claims = release
    if returns:  # it says that it has never run the guest, which continues at its source
        cluster.hosts.start("h2")
        cluster.settle()
        cluster.check_end("ACTIVE", "error", "h1")
    else:
        cluster.scheduler.down.add("h2")
        cluster.fence("h2")
        cluster.settle()
        cluster.check_end("ACTIVE", "error", "h1")


def test_server_boots_at_its_source_if_the_destination_that_may_have_run_it_is_fenced(cluster: LiveCluster) -> None:
    cluster.live_migrate()
    cluster.run_to("switch")
    cluster.hosts.kill("h2")
    cluster.settle(600_000)
    assert cluster.hosts.running(INSTANCE) == []
    assert cluster.record(INSTANCE).status == "MIGRATING"
    (paused,) = cluster.hosts.rigs["h1"].guests().values()
    cluster.fence("h2")
    cluster.settle()
    assert cluster.record(INSTANCE).status == "ACTIVE"
    assert cluster.hosts.running(INSTANCE) == ["h1"]
    (booted,) = cluster.hosts.rigs["h1"].guests().values()
    assert paused.is_paused
    assert booted.running_at_ms > paused.running_at_ms  # it did not continue from its memory, which is old
