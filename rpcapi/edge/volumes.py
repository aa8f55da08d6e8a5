# SPDX-License-Identifier: Apache-2.0
"""Volumes that a server is attached to: one that exists on its pool, or one that is made with the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.edge.asked import integer
from rpcapi.edge.draft import Draft
from rpcapi.model.groups import RequestGroup

VOLUME = "_vol{}"
KEYS = ("size", "pool", "boot")


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume to be made of so many GiB, on that pool or on any; without a size: one that exists on that pool.

    ``boot``: it is the server's root disk.
    """

    size_gb: int | None
    pool: str | None = None
    boot: bool = False


def read(told: Mapping[str, str]) -> Volume:
    """Return the volume that texts describe; raises InvalidSpec for what is none."""
    unknown = sorted(told.keys() - set(KEYS))
    if unknown or not ("size" in told or "pool" in told):
        what = f"has no {unknown[0]!r}" if unknown else "is told by its size, its pool, or both"
        raise errors.InvalidSpec(why=f"a volume {what}; known: {', '.join(KEYS)}")
    if not told.get("pool", "pool"):
        raise errors.InvalidSpec(why="the pool of a volume must be the name of a provider, and not empty")
    size = integer(told["size"]) if "size" in told else None
    if "size" in told and not size:
        raise errors.InvalidSpec(why=f"the size of a volume must be an integer of GiB from 1 up, not {told['size']!r}")
    boot = told.get("boot", "false")
    if boot not in ("true", "false"):
        raise errors.InvalidSpec(why=f"boot of a volume must be true or false, not {boot!r}")
    return Volume(size, told.get("pool"), boot == "true")


def translate(volumes: Sequence[Volume], draft: Draft) -> list[dict[str, Any]]:
    """Add a group for each volume that is made, which a provider that shares with the host's tree serves.

    Returns RequestSpec.volumes; raises InvalidSpec for more than one root disk.
    """
    if sum(volume.boot for volume in volumes) > 1:
        raise errors.InvalidSpec(why="only one volume can be the root disk: leave boot=true to one of them")
    told: list[dict[str, Any]] = []
    for number, volume in enumerate(volumes):
        if volume.size_gb is None:
            told.append({"pool": volume.pool})
            continue
        group = VOLUME.format(number)
        shared = (os_traits.MISC_SHARES_VIA_AGGREGATE,)
        draft.add(RequestGroup(group, {orc.DISK_GB: volume.size_gb}, shared, in_tree=volume.pool))
        told.append({"size_gb": volume.size_gb, "group": group})
    return told
