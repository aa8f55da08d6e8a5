# SPDX-License-Identifier: Apache-2.0
"""The RequestSpec of a next release: one field more, and the rules for peers of this release."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from oslo_utils.versionutils import convert_version_to_tuple
from oslo_versionedobjects import fields as kinds

from rpcapi import objects
from rpcapi.objects.base import GanttObjectRegistry

PRESENT = objects.RequestSpec.VERSION
_MAJOR, _MINOR = convert_version_to_tuple(PRESENT)
NEXT = f"{_MAJOR}.{_MINOR + 1}"


class RequestSpec(objects.RequestSpec, registers=False):
    """RequestSpec of the next release, with a priority."""

    VERSION = NEXT

    fields = {"priority": kinds.IntegerField(default=0)}  # noqa: RUF012 - as in the base class

    def obj_make_compatible(self, primitive: dict[str, Any], target_version: str) -> None:
        """Drop the priority for a peer of this release."""
        super().obj_make_compatible(primitive, target_version)
        if convert_version_to_tuple(target_version) < convert_version_to_tuple(NEXT):
            primitive.pop("priority", None)


@contextmanager
def registered() -> Iterator[type[RequestSpec]]:
    """Let this process know the next release's RequestSpec instead of the present one."""
    classes = GanttObjectRegistry.obj_classes()
    present = classes["RequestSpec"]
    classes["RequestSpec"] = []
    try:
        GanttObjectRegistry.register(RequestSpec)
        yield RequestSpec
    finally:
        classes["RequestSpec"] = present
