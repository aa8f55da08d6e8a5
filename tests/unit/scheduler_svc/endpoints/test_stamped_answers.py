# SPDX-License-Identifier: Apache-2.0
"""Stamps on answers to reports and audits, over the bus."""

import pytest

from rpcapi import context
from scheduler_svc.host_state.stamps import StampSigner
from tests.unit.scheduler_svc.fakes.workers import FakeTransportWorker, node_report

STAMP_KEY = "a key that only schedulers know: 0123456789"


@pytest.fixture
def start_worker():
    """Return a function that starts the only worker, with options of [scheduler]."""
    started = []

    def start(**options):
        worker = FakeTransportWorker(**options)
        worker.service.start()
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.service.stop()


def test_answers_to_reports_and_audits_carry_stamps_of_the_store(start_worker):
    worker, signer = start_worker(stamp_key=STAMP_KEY), StampSigner(STAMP_KEY)
    reported = worker.report("stamped", {"stamped": node_report()})
    assert signer.verify("default", "stamped", reported.stamp) == (reported.epoch, worker.store.state.position)
    audited = worker.audit("stamped", reported.epoch)
    assert signer.verify("default", "stamped", audited.stamp) == (reported.epoch, worker.store.state.position)
    assert worker.audit("stamped", 1).stamp is None


def test_audit_with_a_later_stamp_begins_an_epoch_before_it_ends_claims(start_worker):
    worker, signer = start_worker(stamp_key=STAMP_KEY), StampSigner(STAMP_KEY)
    worker.join("proof", {"proof/1": node_report()})
    uuids, _ = worker.select(1, force_hosts=["proof"])
    worker.claims.confirm_claims(context.new(), "proof", worker.refs(uuids))
    state = worker.store.state
    epoch, later = state.epoch, state.position + 100

    other = signer.sign("default", "other", epoch, later)
    assert worker.audit("proof", epoch, stamp=other).epoch == epoch
    own = signer.sign("default", "proof", epoch, later)
    answer = worker.audit("proof", epoch, stamp=own)
    assert answer.epoch > epoch and answer.consumers == []
    assert worker.audit("proof", answer.epoch, stamp=own).epoch == answer.epoch == worker.store.state.epoch


def test_worker_without_a_key_gives_no_stamps(start_worker):
    worker = start_worker()
    answer = worker.report("plain", {"plain": node_report()})
    assert (answer.stamp, worker.audit("plain", answer.epoch).stamp) == (None, None)
