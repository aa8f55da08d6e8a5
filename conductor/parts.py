# SPDX-License-Identifier: Apache-2.0
"""Parts of a conductor that its RPC methods use."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from conductor.admission import AdmissionLimits
from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from rpcapi.bounds import StoreBounds


@dataclass
class ConductorParts:
    """Store with bounds, clients of other services and limits of calls.

    Attributes:
        wake: Called when the saga has work.
        max_instances: Instances per call.
        limits: Replaced when the configuration is reloaded.
        clock: Returns Unix time in milliseconds.
    """

    store: ConductorStore
    clients: ServiceClients
    bounds: StoreBounds
    wake: Callable[[], None]
    max_instances: int
    limits: AdmissionLimits = field(default_factory=AdmissionLimits)
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
