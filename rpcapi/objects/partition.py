# SPDX-License-Identifier: Apache-2.0
"""Partitions, as seen by a scheduler worker."""

from rpcapi.objects import base


class PartitionList(base.GanttObject):
    """Partitions in the order of the configuration, one row each.

    ``available`` says whether the store answers; ``epochs`` and ``positions`` come from the worker's replica. ``hosts``
    counts nodes, ``alive`` nodes that can accept claims. ``claims`` is {state: number}, None without the store.
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
