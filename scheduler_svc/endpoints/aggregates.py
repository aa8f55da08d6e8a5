# SPDX-License-Identifier: Apache-2.0
"""RPC methods that change aggregates."""

from typing import Any

import oslo_messaging as messaging

from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from scheduler_svc.endpoints.metered import MeteredEndpoint
from scheduler_svc.host_state.aggregates import AggregateWriter


class AggregatesEndpoint(MeteredEndpoint):
    """Aggregates; rpcapi.clients.scheduler.SchedulerAPI documents each method."""

    target = messaging.Target(version=SchedulerAPI.VERSION)

    def __init__(self, aggregates: AggregateWriter) -> None:
        self._aggregates = aggregates

    @expose
    def update_aggregates(self, ctxt: RequestContext, aggregates: list[dict[str, Any]]) -> None:
        """Create or replace aggregates."""
        self._aggregates.update(aggregates)

    @expose
    def delete_aggregate(self, ctxt: RequestContext, name: str, version: int | str | None = None) -> None:
        """Delete an aggregate."""
        self._aggregates.delete(name, version)
