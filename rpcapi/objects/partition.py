# SPDX-License-Identifier: Apache-2.0
"""Partitions of a deployment, as seen by one scheduler worker."""

from rpcapi.objects import base


@base.GanttObjectRegistry.register
class PartitionList(base.GanttObject):
    """Partitions in the order of the configuration, one row each.

    - ``available``: Whether the partition's store answers.
    - ``epochs``, ``positions``: State of the worker's replica.
    - ``hosts``: Number of nodes.
    - ``alive``: Number of nodes that can accept claims.
    - ``claims``: {state: number}; None if the store did not answer.

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
