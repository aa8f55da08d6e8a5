# SPDX-License-Identifier: Apache-2.0
"""Jinja environment of the pages, and its filters."""

import datetime
from typing import Any
from urllib.parse import quote

import jinja2

from rpcapi.dashboard.host_list import Amounts

_UNITS = {"MEMORY_MB": ("MiB", "GiB", "TiB"), "DISK_GB": ("GiB", "TiB", "PiB")}
STEP = 1024
SMALL_SHARE = 9.95  # percent
MINUTE, HOUR, DAY = 60, 3600, 86400


def environment() -> jinja2.Environment:
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("rpcapi.dashboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "amount": amount,
        "percent": percent,
        "age": age,
        "time": timestamp,
        "path": path,
        "words": words,
    }
    return templates


def amount(number: float, resource_class: str = "") -> str:
    """Format an amount in the unit of its class: 65536 of MEMORY_MB is "64 GiB"."""
    units = _UNITS.get(resource_class)
    if units is None:
        return f"{number:,}"
    for unit in units[:-1]:
        if abs(number) < 10 * STEP:
            return f"{number:,.4g} {unit}"
        number /= STEP
    return f"{number:,.4g} {units[-1]}"


def percent(amounts: Amounts) -> str:
    share = 100 * amounts.used / amounts.capacity if amounts.capacity else 0.0
    return f"{share:.1f}" if 0 < share < SMALL_SHARE else f"{share:.0f}"


def words(value: Any) -> str:
    """Format a request field; a mapping's integers precede their names, as in "2 VCPU"."""
    if isinstance(value, dict):
        return ", ".join(
            f"{words(item)} {key}" if isinstance(item, int) else f"{key}: {words(item)}" for key, item in value.items()
        )
    return ", ".join(map(words, value)) if isinstance(value, list) else str(value)


def age(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("d", DAY), ("h", HOUR), ("min", MINUTE)):
        if seconds >= 2 * size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def timestamp(milliseconds: float | None) -> str:
    if not milliseconds:
        return "-"
    return datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def path(text: Any) -> str:
    """Quote a text as URL path; slashes stay, because node names contain them."""
    return quote(str(text), safe="/@")
