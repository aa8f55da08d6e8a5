# SPDX-License-Identifier: Apache-2.0
"""A helper of weigher tests: the numbers that a weigher returns for a few hosts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.weighers.weigher import Weigher
from tests.support.scheduler import hosts

Documents = Mapping[str, Mapping[str, Mapping[str, Any]]]


def raw_values(
    weigher: Weigher,
    nodes: Mapping[str, Mapping[str, Any]],
    *,
    used: Mapping[str, Mapping[str, int]] | None = None,
    documents: Documents | None = None,
    **request_fields: Any,
) -> list[float] | None:
    """Return the weigher's number per host for a request, or None if it returns none.

    The table stores what the weigher reads; ``documents`` are by namespace and name.
    """
    snapshot = dataclasses.replace(hosts.snapshot(nodes, used), states=documents or {})
    table = HostTable.from_snapshot(snapshot, reads=weigher.reads)
    with table.reading() as view:
        values = weigher.raw(view, hosts.request(**request_fields))
        return (
            None if values is None else [float(values[view.row(name)]) for name in nodes if view.row(name) is not None]
        )
