# SPDX-License-Identifier: Apache-2.0
"""Options with key=value pairs, such as extra specs and image properties."""

from collections.abc import Iterable
from typing import Any

from oslo_config import cfg, types

from rpcapi import errors


def option(name: str, **values: Any) -> cfg.ListOpt:
    """Return an option of comma-separated pairs; pairs with a comma in the value must be quoted."""
    return cfg.ListOpt(name, item_type=types.String(quotes=True), **values)


def read(label: str, pairs: Iterable[str]) -> dict[str, str]:
    """Return the pairs as a mapping; raises BadConfiguration for a malformed pair or duplicate key."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or key in mapping:
            raise errors.BadConfiguration(why=f"{label}: {pair!r} must be key=value, with each key once")
        mapping[key] = value
    return mapping
