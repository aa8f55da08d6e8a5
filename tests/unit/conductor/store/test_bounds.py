# SPDX-License-Identifier: Apache-2.0
"""The bounds of the conductors' store."""

import pytest

from conductor.store.bounds import OPTIONS, RecordBounds
from conductor.store.memory import MemoryConductorStore
from rpcapi import errors
from tests.unit.conductor.store.conftest import request


def test_store_at_a_bound_is_refused_after_it_was_measured() -> None:
    store = MemoryConductorStore()
    bounds = RecordBounds(store, {**dict.fromkeys(OPTIONS, 1 << 20), "records": 1})
    store.record(request(), ["a"])
    bounds.check()
    assert bounds.measure()["records"].bound == 1
    with pytest.raises(errors.StoreFull, match=r"The conductors' store: records .* \[conductor_store\] record_bytes"):
        bounds.check()
