# SPDX-License-Identifier: Apache-2.0
"""Rules of extra specs and image, which a request carries for filters."""

from rpcapi.validation.rules import document, integer, key, limited, mapping, optional, string, text

MAX_KEYS = 200  # Limit of extra specs, and of image properties.
MAX_BYTES = 32 * 1024  # of the same, as JSON

EXTRA_SPECS = limited(mapping(key, string, MAX_KEYS), MAX_BYTES)
IMAGE = document(
    {
        "id": optional(text),
        "name": optional(text),
        "disk_format": optional(text),
        "properties": EXTRA_SPECS,
        "min_ram_mb": integer(),
        "min_disk_gb": integer(),
    }
)
