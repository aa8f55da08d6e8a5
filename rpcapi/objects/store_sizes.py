# SPDX-License-Identifier: Apache-2.0
"""The sizes of a store's collections."""

from collections.abc import Mapping

from rpcapi.bounds import CollectionSize
from rpcapi.objects import base


@base.GanttObjectRegistry.register
class StoreSizes(base.GanttObject):
    """One element per collection: number of entries, bytes, and bound in bytes, 0 where there is none.

    A collection that ``rotates`` loses its oldest entries at its bound; at that of any other one new work is refused.

    Version 1.0: Initial version
    """

    fields = {
        "collections": base.ColumnField(str),
        "entries": base.ColumnField(int),
        "bytes": base.ColumnField(int),
        "bounds": base.ColumnField(int),
        "rotates": base.ColumnField(bool),
    }

    @classmethod
    def of_sizes(cls, sizes: Mapping[str, CollectionSize]) -> "StoreSizes":
        """Return the object for measured sizes."""
        return cls.of(
            collections=list(sizes),
            entries=[size.entries for size in sizes.values()],
            bytes=[size.bytes for size in sizes.values()],
            bounds=[size.bound for size in sizes.values()],
            rotates=[size.rotates for size in sizes.values()],
        )

    @property
    def sizes(self) -> dict[str, CollectionSize]:
        """The size of each collection."""
        rows = zip(self.entries, self.bytes, self.bounds, self.rotates, strict=True)
        return dict(zip(self.collections, map(CollectionSize._make, rows), strict=True))
