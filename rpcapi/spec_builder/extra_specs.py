# SPDX-License-Identifier: Apache-2.0
"""Extra specs and image properties that request resource classes and traits directly."""

import re

from rpcapi import errors
from rpcapi.resources.groups import POLICIES
from rpcapi.spec_builder.draft import KINDS, REQUIRED, FlavorImageProperties, SpecDraft, parse_integer

RESOURCES = "resources"
TRAIT = "trait"
POLICY = "group_policy"
KEY = re.compile(r"(resources|trait)([A-Za-z0-9_-]{1,64})?:(.*)", re.DOTALL)


def translate(flavor_image: FlavorImageProperties, draft: SpecDraft) -> None:
    """Add requested resources, traits and groups policy; raises InvalidSpec. Names are checked later."""
    for key, value in flavor_image.flavor.extra_specs.items():
        match = KEY.fullmatch(key)
        if match is not None:
            add_to_draft(draft, match, value, f"extra spec {key!r} of flavor {flavor_image.flavor.name!r}")
        elif key == POLICY:
            if value not in POLICIES:
                raise flavor_image.invalid(key, f"must be one of {', '.join(POLICIES)}, not {value!r}")
            draft.policy = value
    for key, value in flavor_image.image.properties.items():
        if key.startswith(f"{TRAIT}:"):
            if value != REQUIRED:
                raise errors.InvalidSpec(
                    why=f"property {key!r} of image {flavor_image.image.name!r} must be {REQUIRED!r}, not {value!r}"
                )
            draft.add_trait(key.removeprefix(f"{TRAIT}:"))


def add_to_draft(draft: SpecDraft, match: re.Match[str], value: str, label: str) -> None:
    prefix, suffix, name = match[1], match[2] or "", match[3]
    if prefix == RESOURCES:
        amount = parse_integer(value)
        if amount is None:
            raise errors.InvalidSpec(why=f"{label} must be a non-negative integer, not {value!r}")
        draft.add_amount(name, amount, suffix)
        return
    if value not in KINDS:
        raise errors.InvalidSpec(why=f"{label} must be {' or '.join(map(repr, KINDS))}, not {value!r}")
    draft.add_trait(name, value, suffix)
