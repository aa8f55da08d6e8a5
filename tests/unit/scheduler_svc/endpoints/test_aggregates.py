# SPDX-License-Identifier: Apache-2.0
"""Methods that change aggregates, over the bus."""

import pytest

from rpcapi import context, errors


def stored(worker):
    documents, _ = worker.store.list_state("aggregate")
    return {name: document for name, _version, document in documents if not document.get("deleted")}


def test_aggregates_are_created_replaced_and_deleted(worker):
    ctxt = context.new()
    worker.scheduler.update_aggregates(
        ctxt, [{"id": "gold", "hosts": ["h1"], "metadata": {"ssd": "true"}}, {"id": "silver", "hosts": []}]
    )
    assert stored(worker)["gold"]["hosts"] == ["h1"]
    worker.scheduler.update_aggregates(ctxt, [{"id": "gold", "hosts": ["h2"]}])
    assert stored(worker)["gold"]["hosts"] == ["h2"]
    assert set(stored(worker)) == {"gold", "silver"}
    for name in ("gold", "silver"):
        worker.scheduler.delete_aggregate(ctxt, name)
    assert stored(worker) == {}


def test_invalid_aggregate_is_a_typed_error_and_changes_nothing(worker):
    before = stored(worker)
    with pytest.raises(errors.InvalidHostState, match="hosts"):
        worker.scheduler.update_aggregates(context.new(), [{"id": "bad", "hosts": "h1"}])
    assert stored(worker) == before
