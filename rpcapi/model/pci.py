# SPDX-License-Identifier: Apache-2.0
"""PCI aliases: names under which flavors ask for devices."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.model import vocabulary
from rpcapi.model.checks.text import shown

REQUIRED, LEGACY, PREFERRED, SOCKET = NUMA_POLICIES = ("required", "legacy", "preferred", "socket")
DEVICE_TYPES = ("type-PCI", "type-PF", "type-VF")
KEYS = (
    *("name", "vendor_id", "product_id", "resource_class", "traits", "numa_policy", "device_type"),
    *("capability_type", "live_migratable"),
)
_ID = re.compile(r"[0-9a-fA-F]{4}")


@dataclass(frozen=True, slots=True)
class Alias:
    """A kind of device: the class that its providers have one inventory of, and the traits that they must have."""

    name: str
    resource_class: str
    traits: tuple[str, ...] = ()
    numa_policy: str = LEGACY


def resource_class(vendor_id: str, product_id: str) -> str:
    """Return the class of devices of that vendor and product, as the agent reports it."""
    return f"CUSTOM_PCI_{vendor_id}_{product_id}".upper()


def parse(texts: Sequence[str]) -> dict[str, Alias]:
    """Return the aliases, each written as JSON as for Nova; raises BadConfiguration for what is none."""
    found: dict[str, Alias] = {}
    for text in texts:
        alias = _alias(text)
        if found.get(alias.name, alias) != alias:
            raise _bad(f"alias {alias.name!r} is there twice; give one resource_class to all devices that it may mean")
        found[alias.name] = alias
    return found


def _alias(text: str) -> Alias:
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as why:
        raise _bad(f"alias {shown(text)} is no JSON: {why}") from None
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise _bad(f"alias {shown(text)} must be a JSON object of texts")
    name = told.get("name", "").strip()
    unknown = sorted(told.keys() - set(KEYS))
    if not name:
        raise _bad(f"alias {shown(text)} has no name")
    if unknown:
        raise _bad(f"alias {name!r} has an unknown key {unknown[0]!r}")
    policy = told.get("numa_policy", LEGACY)
    if policy not in NUMA_POLICIES:
        raise _bad(f"numa_policy of alias {name!r} must be one of {', '.join(NUMA_POLICIES)}, not {policy!r}")
    if told.get("device_type", DEVICE_TYPES[0]) not in DEVICE_TYPES:
        raise _bad(f"device_type of alias {name!r} must be one of {', '.join(DEVICE_TYPES)}")
    return Alias(name, _class(name, told), _traits(told.get("traits", "")), policy)


def _class(name: str, told: Mapping[str, Any]) -> str:
    named = told.get("resource_class")
    if named:
        upper = named.upper()
        found = upper if upper in orc.STANDARDS or orc.is_custom(upper) else orc.normalize_name(named)
    else:
        ids = told.get("vendor_id", ""), told.get("product_id", "")
        if not all(map(_ID.fullmatch, ids)):
            raise _bad(f"alias {name!r} needs a resource_class, or vendor_id and product_id of four hex digits each")
        found = resource_class(*ids)
    try:
        vocabulary.check_resource_class(found)
    except errors.UnknownResourceClass as why:
        raise _bad(f"alias {name!r}: {why.sentence}") from None
    return found


def _traits(text: str) -> tuple[str, ...]:
    standard = set(os_traits.get_traits())
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    return tuple(
        name if name in standard or os_traits.is_custom(name) else os_traits.normalize_name(name) for name in names
    )


def _bad(why: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(why=f"[pci] {why}")
