# SPDX-License-Identifier: Apache-2.0
"""Sizes of a store's collections."""

from collections.abc import Mapping

from rpcapi.bounds import CollectionSize
from rpcapi.objects import base


class StoreSizes(base.GanttObject):
    """Entries, bytes and limit in bytes (0: none) per collection; a full one ``rotates`` or refuses new work."""

    fields = {
        "collections": base.ColumnField(str),
        "entries": base.ColumnField(int),
        "bytes": base.ColumnField(int),
        "bounds": base.ColumnField(int),
        "rotates": base.ColumnField(bool),
    }

    @classmethod
    def of_sizes(cls, sizes: Mapping[str, CollectionSize]) -> "StoreSizes":
        return cls.of(
            collections=list(sizes),
            entries=[size.entries for size in sizes.values()],
            bytes=[size.bytes for size in sizes.values()],
            bounds=[size.bound for size in sizes.values()],
            rotates=[size.rotates for size in sizes.values()],
        )

    @property
    def sizes(self) -> dict[str, CollectionSize]:
        rows = zip(self.entries, self.bytes, self.bounds, self.rotates, strict=True)
        return dict(zip(self.collections, map(CollectionSize._make, rows), strict=True))
