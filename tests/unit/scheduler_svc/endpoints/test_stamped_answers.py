# SPDX-License-Identifier: Apache-2.0
"""Stamps on answers to reports and audits, over the bus."""

import pytest

from rpcapi import context, errors
from scheduler_svc.host_state.stamps import CONDUCTORS, StampSigner
from tests.support.scheduler.workers import FakeTransportWorker, node_report

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


def test_conductors_exchange_stamps_of_all_partitions(start_worker):
    worker = start_worker(stamp_key=STAMP_KEY, partitions=["default", "cell"])
    signer, ctxt = StampSigner(STAMP_KEY), context.new()
    stamps = worker.scheduler.exchange_stamps(ctxt, {"removed": "1.1.x"})
    assert stamps == {"removed": None} | {
        name: signer.sign(name, CONDUCTORS, store.state.epoch, store.state.position)
        for name, store in worker.stores.items()
    }
    epochs = {name: store.state.epoch for name, store in worker.stores.items()}
    state = worker.stores["cell"].state
    later = signer.sign("cell", CONDUCTORS, state.epoch, state.position + 1)
    for stolen in (signer.sign("cell", "h1", state.epoch, state.position + 1), later.replace(".", ".9", 1)):
        worker.scheduler.exchange_stamps(ctxt, {"cell": stolen})
    assert {name: store.state.epoch for name, store in worker.stores.items()} == epochs
    answer = worker.scheduler.exchange_stamps(ctxt, {"cell": later})["cell"]
    assert state.epoch > epochs["cell"] and worker.store.state.epoch == epochs["default"]
    assert signer.verify("cell", CONDUCTORS, answer) == (state.epoch, state.position)
    assert worker.scheduler.exchange_stamps(ctxt, {"cell": later})["cell"] == answer


def test_partition_that_does_not_answer_has_no_stamp(start_worker, monkeypatch):
    worker = start_worker(stamp_key=STAMP_KEY, partitions=["default", "cell"])

    def fail(epoch, position):
        raise errors.StoreUnavailable(why="it is away")

    monkeypatch.setattr(worker.stores["cell"], "begin_epoch_if_behind", fail)
    assert list(worker.scheduler.exchange_stamps(context.new(), {"cell": "1.1.x"})) == ["default"]


@pytest.mark.parametrize("stamps", [None, ["1.1.x"], {"default": 7}])
def test_malformed_stamps_are_refused(start_worker, stamps):
    with pytest.raises(errors.MalformedObject):
        start_worker(stamp_key=STAMP_KEY).scheduler.exchange_stamps(context.new(), stamps)


def test_worker_without_a_key_gives_no_stamps(start_worker):
    worker = start_worker()
    assert worker.scheduler.exchange_stamps(context.new(), {}) == {"default": None}
    answer = worker.report("plain", {"plain": node_report()})
    assert (answer.stamp, worker.audit("plain", answer.epoch).stamp) == (None, None)
