# SPDX-License-Identifier: Apache-2.0
"""Quota of a project."""

from collections.abc import Mapping

from rpcapi.objects import base


class ProjectQuota(base.GanttObject):
    """Usage and limits (None: unlimited) per resource class, ``instances`` and ``recorded_instances``."""

    fields = {
        "resources": base.ColumnField(str),
        "used": base.ColumnField(int),
        "limits": base.ColumnField(int, nullable_items=True),
    }

    @classmethod
    def of_usage(cls, used: Mapping[str, int], limits: Mapping[str, int]) -> "ProjectQuota":
        names = sorted(used.keys() | limits.keys())
        return cls.of(
            resources=names, used=[used.get(name, 0) for name in names], limits=[limits.get(name) for name in names]
        )
