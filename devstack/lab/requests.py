# SPDX-License-Identifier: Apache-2.0
"""Generated requests: mostly small servers, as in real clouds; the same for the same seed."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.request import SchedulingRequest

# (processors, memory in MB for each, disk in GB, how many of ten)
SIZES = ((1, 2048, 20, 3), (2, 2048, 40, 3), (4, 4096, 80, 2), (8, 4096, 160, 1), (8, 8192, 320, 1))


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A request for one server."""

    consumer: str
    request: SchedulingRequest


def stream(seed: int) -> Iterator[ServerRequest]:
    """Yield requests for single servers, endlessly."""
    chance = random.Random(seed)
    weights = [share for *_, share in SIZES]
    while True:
        vcpus, memory, disk, _ = chance.choices(SIZES, weights)[0]
        amounts: Amounts = {"VCPU": vcpus, "MEMORY_MB": vcpus * memory, "DISK_GB": disk}
        consumer = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        yield ServerRequest(consumer, SchedulingRequest(f"req-{consumer}", amounts))
