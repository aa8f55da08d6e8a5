# SPDX-License-Identifier: Apache-2.0
"""Volumes to attach to a server: existing ones, and new ones to create with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder.draft import SpecDraft, parse_integer

VOLUME = "_vol{}"
KEYS = ("size", "pool", "boot")


@dataclass(frozen=True, slots=True)
class Volume:
    """New volume of ``size_gb`` GiB in ``pool`` (None: any), or an existing one; ``boot``: the root disk."""

    size_gb: int | None
    pool: str | None = None
    boot: bool = False


def read(texts: Mapping[str, str]) -> Volume:
    unknown = sorted(texts.keys() - set(KEYS))
    if unknown or not ("size" in texts or "pool" in texts):
        problem = f"has unknown option {unknown[0]!r}" if unknown else "needs size, pool or both"
        raise errors.InvalidSpec(why=f"a volume {problem}; known: {', '.join(KEYS)}")
    if not texts.get("pool", "pool"):
        raise errors.InvalidSpec(why="the pool of a volume must be a provider name, not empty")
    size = parse_integer(texts["size"]) if "size" in texts else None
    if "size" in texts and not size:
        raise errors.InvalidSpec(
            why=f"the size of a volume must be an integer of at least 1 (GiB), not {texts['size']!r}"
        )
    boot = texts.get("boot", "false")
    if boot not in ("true", "false"):
        raise errors.InvalidSpec(why=f"boot of a volume must be true or false, not {boot!r}")
    return Volume(size, texts.get("pool"), boot == "true")


def translate(volumes: Sequence[Volume], draft: SpecDraft) -> list[dict[str, Any]]:
    """Add a group per new volume; return RequestSpec.volumes. Raises InvalidSpec for a second root disk."""
    if sum(volume.boot for volume in volumes) > 1:
        raise errors.InvalidSpec(why="at most one volume may have boot=true")
    spec_volumes: list[dict[str, Any]] = []
    for number, volume in enumerate(volumes):
        if volume.size_gb is None:
            spec_volumes.append({"pool": volume.pool})
            continue
        group = VOLUME.format(number)
        shared = (os_traits.MISC_SHARES_VIA_AGGREGATE,)
        draft.add_group(RequestGroup(group, {orc.DISK_GB: volume.size_gb}, shared, in_tree=volume.pool))
        spec_volumes.append({"size_gb": volume.size_gb, "group": group})
    return spec_volumes
