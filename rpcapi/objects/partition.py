# SPDX-License-Identifier: Apache-2.0
"""The partitions of a deployment, as one scheduler worker sees them."""

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class PartitionList(base.GanttObject):
    """One row a partition, in the order of the configuration.

    ``available`` is whether its store answers now. ``epochs`` and ``positions`` are those of the worker's replica,
    ``hosts`` the nodes in it and ``alive`` those that could take something; ``claims`` holds {state: number}, None
    where the store did not answer.

    Version 1.0: Initial version
    """

    VERSION = "1.0"
    COLUMNS = ("names", "available", "epochs", "positions", "hosts", "alive", "claims")

    fields = {
        "names": base.ColumnField(str),
        "available": base.ColumnField(bool),
        "epochs": base.ColumnField(int),
        "positions": base.ColumnField(int),
        "hosts": base.ColumnField(int),
        "alive": base.ColumnField(int),
        "claims": base.ColumnField(dict, nullable_items=True),
    }
