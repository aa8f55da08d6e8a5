# SPDX-License-Identifier: Apache-2.0
"""Known resource classes and traits: standard or CUSTOM_ names."""

import functools
import re

import os_resource_classes
import os_traits

from rpcapi import errors

MAX_LENGTH = 255
_STANDARD_CLASSES = frozenset(os_resource_classes.STANDARDS)
_CUSTOM = re.compile(r"CUSTOM_[A-Z0-9_]+")


def check_resource_class(name: object) -> None:
    if not isinstance(name, str) or not (name in _STANDARD_CLASSES or _is_custom(name)):
        raise errors.UnknownResourceClass(name=_short(name))


def check_trait(name: object) -> None:
    if not isinstance(name, str) or not (name in _standard_traits() or _is_custom(name)):
        raise errors.UnknownTrait(name=_short(name))


def _is_custom(name: str) -> bool:
    return len(name) <= MAX_LENGTH and _CUSTOM.fullmatch(name) is not None


def _short(name: object) -> str:
    return str(name)[:60]


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())
