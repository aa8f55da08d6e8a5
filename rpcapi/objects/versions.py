# SPDX-License-Identifier: Apache-2.0
"""Making an object into what an older peer knows."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import versionutils


def drop_later(primitive: dict[str, Any], target_version: str, since: Mapping[str, tuple[int, int]]) -> None:
    """Take from ``primitive`` each field that is younger than ``target_version``; ``since`` is {field: version}."""
    target = versionutils.convert_version_to_tuple(target_version)
    for name, version in since.items():
        if target < version:
            primitive.pop(name, None)
