# SPDX-License-Identifier: Apache-2.0
"""Volumes to attach to a server: existing ones, and new ones to create with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import os_resource_classes as orc
import os_traits

from rpcapi import errors
from rpcapi.resources.groups import RequestGroup
from rpcapi.spec_builder.draft import SpecDraft
from rpcapi.validation.rules import document, matching, one_of, text

VOLUME = "_vol{}"
_OPTIONS = document(
    {
        "size": matching("[1-9][0-9]{0,11}", "an integer of at least 1 (GiB)"),
        "pool": text,
        "boot": one_of(("true", "false")),
    }
)


@dataclass(frozen=True, slots=True)
class Volume:
    """New volume of ``size_gb`` GiB in ``pool`` (None: any), or an existing one; ``boot``: the root disk."""

    size_gb: int | None
    pool: str | None = None
    boot: bool = False


def read(texts: Mapping[str, str]) -> Volume:
    _OPTIONS("volume", texts)
    if "size" not in texts and "pool" not in texts:
        raise errors.InvalidSpec(why="a volume needs size, pool or both")
    return Volume(int(texts["size"]) if "size" in texts else None, texts.get("pool"), texts.get("boot") == "true")


def translate(volumes: Sequence[Volume], draft: SpecDraft) -> list[dict[str, Any]]:
    """Add a group per new volume; return RequestSpec.volumes. Raises InvalidSpec for a second root disk."""
    if sum(volume.boot for volume in volumes) > 1:
        raise errors.InvalidSpec(why="at most one volume may have boot=true")
    spec_volumes: list[dict[str, Any]] = []
    for number, volume in enumerate(volumes):
        boot = {"boot": True} if volume.boot else {}
        if volume.size_gb is None:
            spec_volumes.append({"pool": volume.pool, **boot})
            continue
        group = VOLUME.format(number)
        shared = (os_traits.MISC_SHARES_VIA_AGGREGATE,)
        draft.add_group(RequestGroup(group, {orc.DISK_GB: volume.size_gb}, shared, in_tree=volume.pool))
        spec_volumes.append({"size_gb": volume.size_gb, "group": group, **boot})
    return spec_volumes
