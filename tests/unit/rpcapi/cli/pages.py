# SPDX-License-Identifier: Apache-2.0
"""Pages of the fakes' answers."""


def page_of(ordered, marker, limit, max_items=2):
    """Return (items, next marker); pages are small, so that callers must follow them."""
    keys = [key for key in ordered if marker is None or key > marker]
    size = min(limit, max_items)
    return keys[:size], keys[size - 1] if len(keys) > size else None
