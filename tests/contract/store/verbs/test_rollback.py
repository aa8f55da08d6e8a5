# SPDX-License-Identifier: Apache-2.0
"""Proof of a rollback: a verified epoch and position later than the store's own."""

import pytest

from scheduler_svc.store.records import HostReport, StatsOutcome
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from tests.support.store.store_partition import ROOMY, StorePartition, node_stats


def beat(partition: StorePartition, sequence: int, proof: tuple[int, int] | None) -> StatsOutcome:
    """Send a heartbeat of h1 with a proof."""
    incarnation = partition.incarnations["h1"]
    report = HostReport(incarnation, sequence, {}, base=sequence - 1, full=False, proof=proof)
    return partition.store.update_stats("h1", report)


def place(partition: StorePartition) -> tuple[int, int]:
    snapshot = partition.store.snapshot()
    return snapshot.epoch, snapshot.position


@pytest.mark.parametrize(("epochs", "positions"), [(0, 0), (0, -1), (-1, 5_000_000)])
def test_proof_that_is_not_later_begins_no_epoch(partition: StorePartition, epochs: int, positions: int) -> None:
    partition.add_host("h1")
    epoch, position = place(partition)
    assert partition.store.begin_epoch_if_behind(epoch + epochs, position + positions) == (epoch, position)
    assert place(partition) == (epoch, position)


@pytest.mark.parametrize(("epochs", "positions"), [(0, 1), (0, 5_000_000), (1, 0), (10**12, -3)])
def test_later_proof_begins_one_later_epoch(partition: StorePartition, epochs: int, positions: int) -> None:
    partition.add_host("h1")
    epoch, position = place(partition)
    proof = epoch + epochs, position + positions
    new = partition.store.begin_epoch_if_behind(*proof)
    assert new == place(partition)
    assert new[0] > proof[0] and new[1] > max(position, proof[1])
    # every other agent's proof of the lost state is now earlier
    assert partition.store.begin_epoch_if_behind(*proof) == new
    assert partition.store.begin_epoch_if_behind(epoch + epochs, position + positions + 100) == new
    assert place(partition) == new
    assert partition.store.check_identity()[0] == new[0]


def test_host_must_audit_after_a_rollback_was_proved(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    epoch, position = place(partition)
    partition.store.begin_epoch_if_behind(epoch, position + 1)
    verification = partition.store.verify()
    assert list(verification.awaited) == [UNNAMED_HOSTS, "h1"]
    assert list(verification.problems) == []
    assert partition.store.get_state("service", "h1")[1]["audited"] is False


def test_report_with_a_later_proof_is_applied_and_answered_in_a_new_epoch(partition: StorePartition) -> None:
    partition.report("h1", {"h1": node_stats(ROOMY)}, sequence=1)
    epoch, position = place(partition)
    partition.store.audit("h1", epoch, [], 0)
    assert beat(partition, 2, place(partition)).epoch == epoch
    outcome = beat(partition, 3, (epoch, position + 1000))
    assert outcome.epoch > epoch and outcome.audit
    assert not (outcome.superseded or outcome.need_full)
    assert beat(partition, 4, (epoch, position + 2000)).epoch == outcome.epoch


def test_superseded_report_proves_a_rollback_too(partition: StorePartition) -> None:
    partition.add_host("h1")
    epoch, position = place(partition)
    outcome = partition.store.update_stats("h9", HostReport(5, 7, {}, 6, full=False, proof=(epoch, position + 9)))
    assert outcome.superseded and outcome.epoch > epoch


def test_base_and_sequence_are_no_evidence(partition: StorePartition) -> None:
    partition.report("h1", {"h1": node_stats(ROOMY)}, sequence=1)
    epoch = place(partition)[0]
    incarnation = partition.incarnations["h1"]
    ahead = HostReport(incarnation, 900, {}, base=899, full=False)
    outcome = partition.store.update_stats("h1", ahead)
    assert (outcome.need_full, outcome.epoch) == (True, epoch)
