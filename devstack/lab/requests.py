# SPDX-License-Identifier: Apache-2.0
"""Made-up requests: mostly small servers, as clouds see them; the same for the same seed."""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler_svc.request import Request
from scheduler_svc.store.records import Amounts

# (processors, memory in MB for each, disk in GB, how many of ten)
SIZES = ((1, 2048, 20, 3), (2, 2048, 40, 3), (4, 4096, 80, 2), (8, 4096, 160, 1), (8, 8192, 320, 1))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One server that somebody asks for."""

    consumer: str
    request: Request


def stream(seed: int) -> Iterator[Wanted]:
    """Yield single servers without end."""
    chance = random.Random(seed)
    weights = [share for *_, share in SIZES]
    while True:
        vcpus, memory, disk, _ = chance.choices(SIZES, weights)[0]
        amounts: Amounts = {"VCPU": vcpus, "MEMORY_MB": vcpus * memory, "DISK_GB": disk}
        consumer = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        yield Wanted(consumer, Request(f"req-{consumer}", amounts))
