# SPDX-License-Identifier: Apache-2.0
"""RPC methods about hosts: reports of agents, unverified claims, audits and guests."""

from conductor import instances
from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.reconciliation import vouching
from conductor.reports import intake
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class HostEndpoint(ConductorEndpoint):
    @expose
    def report_builds(self, ctxt: RequestContext, report: objects.BuildReport) -> None:
        intake.record(self._conductor, ctxt, report)

    @expose
    def check_unverified(self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs) -> None:
        vouching.check(self._conductor, partition, host, refs)

    @expose
    def audit_hosts(self, ctxt: RequestContext, partition: str, epoch: int) -> None:
        self._conductor.clients.compute.audit(ctxt, partition, epoch)

    @expose
    def list_guests(
        self, ctxt: RequestContext, host: str, marker: str | None = None, limit: int = 1000
    ) -> objects.GuestPage:
        clients = self._conductor.clients
        page: objects.GuestPage = clients.call_agent(ctxt, host, clients.compute.list_guests, marker, limit)
        return page

    @expose
    def list_hosts(self, ctxt: RequestContext, partition: str) -> objects.RecordedHosts:
        return instances.list_hosts(self._conductor.store, partition)
