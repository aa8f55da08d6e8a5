# SPDX-License-Identifier: Apache-2.0
"""Extra specs and image properties that name resource classes and traits outright."""

import re

from rpcapi import errors
from rpcapi.edge.asked import Asked, integer
from rpcapi.edge.draft import KINDS, REQUIRED, Draft
from rpcapi.model.groups import POLICIES

RESOURCES = "resources"
TRAIT = "trait"
POLICY = "group_policy"
_KEY = re.compile(r"(resources|trait)([A-Za-z0-9_-]{1,64})?:(.*)", re.DOTALL)


def translate(asked: Asked, draft: Draft) -> None:
    """Add ``resources[N]:CLASS``, ``trait[N]:NAME`` and ``group_policy`` of the flavor, and the image's traits.

    Raises InvalidSpec for a value that is none; names are checked with the whole request. All other extra specs are
    left to whoever reads them: filters, by aggregates or by capabilities.
    """
    for key, value in asked.flavor.extra_specs.items():
        found = _KEY.fullmatch(key)
        if found is not None:
            add(draft, found, value, f"extra spec {key!r} of flavor {asked.flavor.name!r}")
        elif key == POLICY:
            if value not in POLICIES:
                raise asked.refuse(key, f"must be one of {', '.join(POLICIES)}, not {value!r}")
            draft.policy = value
    for key, value in asked.image.properties.items():
        if key.startswith(f"{TRAIT}:"):
            if value != REQUIRED:
                raise errors.InvalidSpec(
                    why=f"property {key!r} of image {asked.image.name!r} must be {REQUIRED!r}, not {value!r}"
                )
            draft.trait(key.removeprefix(f"{TRAIT}:"))


def match(key: str) -> re.Match[str] | None:
    """Return what ``add`` takes where ``key`` names a resource class or a trait of a group, else None."""
    return _KEY.fullmatch(key)


def add(draft: Draft, found: re.Match[str], value: str, what: str) -> None:
    """Add one key and its value to the draft; ``what`` names them in the error."""
    prefix, suffix, name = found[1], found[2] or "", found[3]
    if prefix == RESOURCES:
        amount = integer(value)
        if amount is None:
            raise errors.InvalidSpec(why=f"{what} must be an integer from 0 up, not {value!r}")
        draft.amount(name, amount, suffix)
        return
    if value not in KINDS:
        raise errors.InvalidSpec(why=f"{what} must be {' or '.join(map(repr, KINDS))}, not {value!r}")
    draft.trait(name, value, suffix)
