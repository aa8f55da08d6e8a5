# SPDX-License-Identifier: Apache-2.0
"""Leases: one owner at a time, and the record with which the next one continues."""

import pytest

from scheduler_svc.store.lease import DocumentLease, DocumentLeaseLost
from scheduler_svc.store.memory import MemoryStore

LEASE = 12.0
NAMESPACE = "leases"
START = {"position": 0}


class LeaseBench:
    """A store, and leases on a clock that the test advances."""

    def __init__(self):
        self.now = 0.0
        self.store = MemoryStore("default", namespaces=(NAMESPACE,))

    def lease(self, owner):
        return DocumentLease(self.store, (NAMESPACE, "lease"), owner, LEASE, lambda: self.now)


@pytest.fixture
def bench():
    return LeaseBench()


def acquire(lease):
    """Try to acquire a lease; return what its last owner recorded, None if another one has it."""
    record = lease.acquire(lambda: START)
    return None if record is None else {key: value for key, value in record.items() if key not in ("owner", "beat")}


def test_released_or_possibly_expired_lease_is_not_valid(bench):
    first, second = bench.lease("first"), bench.lease("second")
    assert acquire(first) == START and first.is_valid
    bench.now = LEASE / 2
    assert not first.is_valid
    assert first.renew(START) and first.is_valid
    first.release(START)
    assert not first.is_valid
    assert acquire(second) == START and second.is_valid
    assert acquire(first) is None and not first.is_valid


def test_first_owner_begins_with_the_start(bench):
    assert acquire(bench.lease("first")) == START


def test_released_lease_is_taken_at_once_with_the_record(bench):
    first, second = bench.lease("first"), bench.lease("second")
    acquire(first)
    assert acquire(second) is None
    first.release({"position": 40})
    assert acquire(second) == {"position": 40}


def test_lease_expires_when_its_document_has_not_changed_for_its_time(bench):
    first, second = bench.lease("first"), bench.lease("second")
    acquire(first)
    first.renew({"position": 7})
    assert acquire(second) is None  # the second worker sees this version from here on
    bench.now += LEASE - 1
    assert acquire(second) is None
    bench.now += 1
    assert acquire(second) == {"position": 7}
    assert not first.renew({"position": 8}), "the lease has a new owner"
    assert not first.is_valid
    assert acquire(bench.lease("third")) is None


def test_renewed_lease_does_not_expire(bench):
    first, second = bench.lease("first"), bench.lease("second")
    acquire(first)
    for _ in range(5):
        assert acquire(second) is None
        bench.now += LEASE - 1
        assert first.renew(START)


def test_restarted_worker_of_the_same_owner_has_the_lease_at_once(bench):
    acquire(bench.lease("first"))
    assert acquire(bench.lease("first")) == START


def test_renewal_is_due_before_the_lease_may_be_invalid(bench):
    lease = bench.lease("first")
    acquire(lease)
    assert not lease.renewal_due
    bench.now += LEASE / 4
    assert lease.renewal_due and lease.is_valid
    lease.renew(START)
    assert not lease.renewal_due


def test_lease_that_was_never_acquired_is_not_valid(bench):
    assert not bench.lease("first").is_valid


def test_lease_is_kept_by_renewing_it_when_that_is_due(bench):
    first, second = bench.lease("first"), bench.lease("second")
    acquire(first)
    version = bench.store.get_state(NAMESPACE, "lease")[0]
    first.keep()
    assert bench.store.get_state(NAMESPACE, "lease")[0] == version
    bench.now += LEASE / 4
    first.keep()
    assert bench.store.get_state(NAMESPACE, "lease")[0] > version
    assert acquire(second) is None
    bench.now += LEASE
    assert acquire(second) == {}
    with pytest.raises(DocumentLeaseLost):
        first.keep()
