# SPDX-License-Identifier: Apache-2.0
"""A conductor without a saga, for tests of single calls."""

from collections.abc import Callable
from typing import Any

from conductor.admission import AdmissionLimits
from conductor.collaborators import Conductor
from conductor.store.bounds import record_bounds
from rpcapi.bounds import StoreBounds


def make_conductor(
    store: Any,
    clients: Any = None,
    *,
    wake: Callable[[], None] = lambda: None,
    max_instances: int = 10,
    bounds: StoreBounds | None = None,
    limits: AdmissionLimits | None = None,
) -> Conductor:
    """Return a conductor with this store and these clients; without limits of projects by default."""
    bounds = bounds or record_bounds({})
    return Conductor(store, clients, bounds, wake, max_instances, limits or AdmissionLimits())
