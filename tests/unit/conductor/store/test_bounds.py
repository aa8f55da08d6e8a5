# SPDX-License-Identifier: Apache-2.0
"""The bounds of the conductors' store."""

import pytest

from conductor.store.bounds import OPTIONS, record_bounds
from conductor.store.memory import MemoryConductorStore
from rpcapi import errors
from tests.support.conductor.bench import request


def test_store_at_a_bound_is_refused_after_it_was_measured() -> None:
    store = MemoryConductorStore()
    bounds = record_bounds({**dict.fromkeys(OPTIONS, 1 << 20), "records": 1})
    store.record(request(), ["a"])
    bounds.check(*OPTIONS)
    assert bounds.observe(store.sizes())["records"].bound == 1
    with pytest.raises(errors.StoreFull, match=r"The conductors' store: records .* \[conductor_store\] record_bytes"):
        bounds.check(*OPTIONS)
