# SPDX-License-Identifier: Apache-2.0
"""PCI aliases: names under which flavors request devices."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.resources import vocabulary
from rpcapi.resources.groups import MAX_GROUPS, RequestGroup
from rpcapi.resources.numa.topology import DevicePolicy
from rpcapi.spec_builder.draft import REQUIRED, FlavorImageProperties, SpecDraft, parse_integer
from rpcapi.validation.text import abbreviate

NUMA_POLICIES = tuple(map(str, DevicePolicy))
DEVICE_TYPES = ("type-PCI", "type-PF", "type-VF")
KEYS = (
    "name",
    "vendor_id",
    "product_id",
    "resource_class",
    "traits",
    "numa_policy",
    "device_type",
    "capability_type",
    "live_migratable",
)
_ID = re.compile(r"[0-9a-fA-F]{4}")
DEVICE = "_pci{}"
KEY = "pci_passthrough:alias"


@dataclass(frozen=True, slots=True)
class PciAlias:
    """Device type: resource class and required traits of its providers."""

    name: str
    resource_class: str
    traits: tuple[str, ...] = ()
    numa_policy: str = DevicePolicy.LEGACY


def resource_class(vendor_id: str, product_id: str) -> str:
    return f"CUSTOM_PCI_{vendor_id}_{product_id}".upper()


def parse(texts: Sequence[str]) -> dict[str, PciAlias]:
    """Parse aliases in Nova's JSON format; raises BadConfiguration."""
    aliases: dict[str, PciAlias] = {}
    for text in texts:
        alias = _alias(text)
        if aliases.get(alias.name, alias) != alias:
            raise _bad_alias(
                f"alias {alias.name!r} is defined twice; for several types of devices set one common resource_class"
            )
        aliases[alias.name] = alias
    return aliases


def _alias(text: str) -> PciAlias:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError) as why:
        raise _bad_alias(f"alias {abbreviate(text)} is not valid JSON: {why}") from None
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise _bad_alias(f"alias {abbreviate(text)} must be a JSON object with string values")
    name = fields.get("name", "").strip()
    unknown = sorted(fields.keys() - set(KEYS))
    if not name:
        raise _bad_alias(f"alias {abbreviate(text)} has no name")
    if unknown:
        raise _bad_alias(f"alias {name!r} has an unknown key {unknown[0]!r}")
    policy = fields.get("numa_policy", DevicePolicy.LEGACY)
    if policy not in NUMA_POLICIES:
        raise _bad_alias(f"numa_policy of alias {name!r} must be one of {', '.join(NUMA_POLICIES)}, not {policy!r}")
    if fields.get("device_type", DEVICE_TYPES[0]) not in DEVICE_TYPES:
        raise _bad_alias(f"device_type of alias {name!r} must be one of {', '.join(DEVICE_TYPES)}")
    return PciAlias(name, _class(name, fields), _traits(fields.get("traits", "")), policy)


def _class(name: str, fields: Mapping[str, str]) -> str:
    text = fields.get("resource_class")
    if text:
        upper = text.upper()
        resource_class_name: str = upper if upper in orc.STANDARDS or orc.is_custom(upper) else orc.normalize_name(text)
    else:
        ids = fields.get("vendor_id", ""), fields.get("product_id", "")
        if not all(map(_ID.fullmatch, ids)):
            raise _bad_alias(
                f"alias {name!r} needs a resource_class, or vendor_id and product_id of four hex digits each"
            )
        resource_class_name = resource_class(*ids)
    try:
        vocabulary.check_resource_class(resource_class_name)
    except errors.UnknownResourceClass as why:
        raise _bad_alias(f"alias {name!r}: {why.sentence}") from None
    return resource_class_name


def _traits(text: str) -> tuple[str, ...]:
    standard = set(os_traits.get_traits())
    names = [name.strip().upper() for name in text.split(",") if name.strip()]
    return tuple(
        name if name in standard or os_traits.is_custom(name) else os_traits.normalize_name(name) for name in names
    )


def _bad_alias(why: str) -> errors.BadConfiguration:
    return errors.BadConfiguration(why=f"[pci] {why}")


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft, aliases: Mapping[str, PciAlias]) -> None:
    """Add a request group per device of ``pci_passthrough:alias``, a list of NAME:COUNT. Raises InvalidSpec."""
    policy = flavor_image.value("pci_numa_affinity_policy", NUMA_POLICIES)
    number = 0
    for name, count in _requested_aliases(flavor_image):
        if name not in aliases:
            alias_names = ", ".join(sorted(aliases)) or "none"
            raise flavor_image.invalid(KEY, f"names unknown PCI alias {name!r}; known: {alias_names}")
        for _ in range(count):
            _add_device(draft, DEVICE.format(number), aliases[name], policy or aliases[name].numa_policy)
            number += 1


def _requested_aliases(flavor_image: FlavorImageProperties) -> list[tuple[str, int]]:
    text = flavor_image.flavor.extra_specs.get(KEY)
    requests = []
    for part in text.split(",") if text else ():
        name, colon, number = part.strip().rpartition(":")
        count = parse_integer(number.strip())
        if not colon or not name or not count or count > MAX_GROUPS:
            raise flavor_image.invalid(
                KEY, f"must be a list of NAME:COUNT with counts from 1 to {MAX_GROUPS}, not {text!r}"
            )
        requests.append((name.strip(), count))
    return requests


def _add_device(draft: SpecDraft, suffix: str, alias: PciAlias, policy: str) -> None:
    draft.add_group(RequestGroup(suffix, {alias.resource_class: 1}, required=alias.traits))
    if policy == DevicePolicy.SOCKET:
        draft.root[REQUIRED].append(os_traits.COMPUTE_SOCKET_PCI_NUMA_AFFINITY)
    if not draft.numa or policy == DevicePolicy.PREFERRED:
        return
    draft.numa.setdefault("devices", {})[suffix] = policy
