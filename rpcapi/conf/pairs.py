# SPDX-License-Identifier: Apache-2.0
"""Options that hold key=value pairs, as extra specs and image properties are written."""

from collections.abc import Iterable
from typing import Any

from oslo_config import cfg, types

from rpcapi import errors


def option(name: str, **values: Any) -> cfg.ListOpt:
    """Return an option of pairs separated by commas; one whose value holds a comma stands in quotes."""
    return cfg.ListOpt(name, item_type=types.String(quotes=True), **values)


def read(what: str, pairs: Iterable[str]) -> dict[str, str]:
    """Return the pairs as a mapping; raises BadConfiguration for what is none, or is there twice."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not key or key in found:
            raise errors.BadConfiguration(why=f"{what}: {pair!r} is no key=value, or is there twice")
        found[key] = value
    return found
