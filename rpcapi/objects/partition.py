# SPDX-License-Identifier: Apache-2.0
"""The partitions of a deployment from the view of one scheduler worker."""

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class PartitionList(base.GanttObject):
    """One element per partition, in the order of the configuration.

    ``available`` is whether the store of the partition answers. ``epochs`` and ``positions`` are those of the worker's
    replica, ``hosts`` counts its nodes and ``alive`` the nodes that can accept claims; ``claims`` has {state: number},
    None when the store did not answer.

    Version 1.0: Initial version
    """

    fields = {
        "names": base.ColumnField(str),
        "available": base.ColumnField(bool),
        "epochs": base.ColumnField(int),
        "positions": base.ColumnField(int),
        "hosts": base.ColumnField(int),
        "alive": base.ColumnField(int),
        "claims": base.ColumnField(dict, nullable_items=True),
    }
