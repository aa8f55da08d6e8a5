# SPDX-License-Identifier: Apache-2.0
"""Digest of a host table, to compare two tables."""

import hashlib
import json

from scheduler_svc.core.table.table import HostTable


def digest(table: HostTable) -> str:
    """Return a digest that is equal for tables with equal contents, whatever the order of their rows."""
    with table.reading():  # a follower may apply further entries at the same time
        return _digest(table)


def _digest(table: HostTable) -> str:
    checksum = hashlib.blake2b(digest_size=16)
    zones = {code: zone for zone, code in table.zones.items()}
    services = table.services
    for name, row in sorted((name, row) for row, name in enumerate(table.names) if table.present[row]):
        flags = [bool(flag_column[row]) for flag_column in (services.alive, services.enabled, services.opened)]
        amounts = {
            resource_class: [
                int(flag_column[row])
                for flag_column in (
                    resource.capacity,
                    resource.used,
                    resource.min_unit,
                    resource.max_unit,
                    resource.step_size,
                )
            ]
            for resource_class, resource in sorted(table.resources.items())
        }
        row_state = [name, flags, zones.get(int(table.zone[row])), sorted(table.traits.of(row)), amounts]
        checksum.update(json.dumps(row_state).encode())
    return checksum.hexdigest()
