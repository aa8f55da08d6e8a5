# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects to older versions."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import versionutils


def drop_later(primitive: dict[str, Any], target_version: str, since: Mapping[str, tuple[int, int]]) -> None:
    """Remove from ``primitive`` the fields newer than ``target_version``; ``since`` is {field: version}."""
    target = versionutils.convert_version_to_tuple(target_version)
    for name, version in since.items():
        if target < version:
            primitive.pop(name, None)
