# SPDX-License-Identifier: Apache-2.0
"""Are two tables the same to a decision?"""

import hashlib
import json

from scheduler_svc.table.table import HostTable


def digest(table: HostTable) -> str:
    """Return a text that is the same for tables in which decisions read the same, however their rows are ordered."""
    known = hashlib.blake2b(digest_size=16)
    zones = {code: zone for zone, code in table.zones.items()}
    services = table.services
    for name, row in sorted((name, row) for row, name in enumerate(table.names) if table.there[row]):
        flags = [bool(column[row]) for column in (services.alive, services.enabled, services.opened)]
        amounts = {
            kind: [
                int(column[row]) for column in (held.capacity, held.used, held.min_unit, held.max_unit, held.step_size)
            ]
            for kind, held in sorted(table.resources.items())
        }
        told = [name, flags, zones.get(int(table.zone[row])), sorted(table.traits.of(row)), amounts]
        known.update(json.dumps(told).encode())
    return known.hexdigest()
