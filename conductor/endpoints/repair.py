# SPDX-License-Identifier: Apache-2.0
"""RPC methods that repair what an audit of the cluster finds."""

from conductor.collaborators import Conductor
from conductor.endpoints.endpoint import ConductorEndpoint
from conductor.reconciliation import leaked_migrations, orphans
from conductor.reconciliation.reconciler import RecordReconciler
from conductor.requests import adoption
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class RepairEndpoint(ConductorEndpoint):
    def __init__(self, conductor: Conductor, reconciler: RecordReconciler) -> None:
        super().__init__(conductor)
        self._reconciler = reconciler

    @expose
    def adopt_instances(self, ctxt: RequestContext, partition: str, host: str, uuids: list[str]) -> None:
        adoption.adopt(self._conductor, ctxt, partition, host, uuids)

    @expose
    def release_orphans(self, ctxt: RequestContext, host: str, refs: objects.ClaimRefs) -> None:
        orphans.release(self._conductor, ctxt, host, refs)

    @expose
    def end_leaked_migrations(
        self, ctxt: RequestContext, partition: str, host: str, refs: objects.ClaimRefs, ends_running: bool = False
    ) -> None:
        leaked_migrations.end(self._conductor, ctxt, partition, host, refs, ends_running=ends_running)

    @expose
    def compare_instances(self, ctxt: RequestContext, uuids: list[str]) -> None:
        self._reconciler.compare(uuids)
