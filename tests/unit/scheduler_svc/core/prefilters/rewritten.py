# SPDX-License-Identifier: Apache-2.0
"""Helpers of prefilter tests: requests for images and flavors, and aggregates as a prefilter reads them."""

from collections.abc import Mapping
from typing import Any

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.aggregates import AggregateColumns, AggregateView
from tests.support.scheduler.hosts import request

NO_AGGREGATES: Mapping[str, Mapping[str, str]] = {}


def aggregate_view(metadata_by_name: Mapping[str, Mapping[str, str]] = NO_AGGREGATES) -> AggregateView:
    """Return aggregates with these metadata, and without members."""
    columns = AggregateColumns(1)
    for name, metadata in metadata_by_name.items():
        columns.put(0, name, {"hosts": [], "metadata": metadata})
    return AggregateView(columns, 1)


def server_request(
    extra_specs: Mapping[str, str] | None = None, properties: Mapping[str, Any] | None = None, **fields: Any
) -> SchedulingRequest:
    """Return a request for a server with this flavor's extra specs and this image's properties."""
    return request(extra_specs=extra_specs or {}, image={"properties": properties or {}}, **fields)
