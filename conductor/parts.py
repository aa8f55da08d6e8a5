# SPDX-License-Identifier: Apache-2.0
"""The parts of a conductor that its calls use."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from conductor.admission import AdmissionLimits
from conductor.service_clients import ServiceClients
from conductor.store.interface import ConductorStore
from rpcapi.bounds import StoreBounds


@dataclass
class ConductorParts:
    """Store and its bounds, clients of other services, and limits of calls.

    ``wake`` is called when there is work for the saga; ``max_instances`` limits the instances of one call. ``limits``
    is replaced when the configuration is reloaded. ``clock`` returns Unix time in milliseconds.
    """

    store: ConductorStore
    clients: ServiceClients
    bounds: StoreBounds
    wake: Callable[[], None]
    max_instances: int
    limits: AdmissionLimits = field(default_factory=AdmissionLimits)
    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
