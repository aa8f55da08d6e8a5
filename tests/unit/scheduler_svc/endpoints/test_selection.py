# SPDX-License-Identifier: Apache-2.0
"""Methods that select hosts, over the bus."""

import uuid

import pytest

from rpcapi import context, errors
from rpcapi.clients import scheduler
from rpcapi.messaging import bus
from tests.support.scheduler.workers import node_report


def test_refusal_is_a_typed_error_with_reasons(worker):
    worker.join("small", {"small/1": node_report()})
    with pytest.raises(errors.NoValidHost, match="1 not enough VCPU") as caught:
        worker.select(force_hosts=["small"], resources={"VCPU": 9})
    assert caught.value.kwargs["reasons"]["not enough VCPU"] == 1


def call(worker, method, version="1.0", topic=scheduler.BusBackend, **values):
    backend = scheduler.BusBackend(worker.conf, bus.get_transport(worker.conf))
    return backend.call(context.new(), version, method, **values)


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (errors.InvalidCount, lambda worker: worker.select(0, uuids=[])),
        (errors.InvalidCount, lambda worker: worker.select(1001)),
        (errors.InvalidRequest, lambda worker: worker.select(uuids=[str(uuid.UUID(int=1))] * 2)),
        (errors.InvalidName, lambda worker: worker.select(uuids=["not-a-uuid"])),
        (errors.InvalidSpec, lambda worker: worker.select(resources={"VCPU": -1})),
        (errors.InvalidSpec, lambda worker: worker.select(resources={})),
        (errors.UnknownResourceClass, lambda worker: worker.select(resources={"WARP": 1})),
        (errors.UnknownTrait, lambda worker: worker.select(required_traits=["SHINY"])),
        (errors.UnknownHost, lambda worker: worker.select(force_hosts=["nowhere"])),
        (errors.MalformedObject, lambda worker: call(worker, "select_destinations", spec=None, uuids=["a"])),
        (errors.MalformedObject, lambda worker: call(worker, "select_destinations", spec=None)),
    ],
)
def test_invalid_input_is_a_typed_error_and_changes_nothing(worker, error, ask):
    before = (dict(worker.store.state.claims), set(worker.store.state.providers))
    with pytest.raises(error):
        ask(worker)
    assert (dict(worker.store.state.claims), set(worker.store.state.providers)) == before
