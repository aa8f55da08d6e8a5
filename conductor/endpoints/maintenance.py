# SPDX-License-Identifier: Apache-2.0
"""RPC methods for operating the conductor itself."""

from typing import Any

from conductor.endpoints.backport import backport
from conductor.endpoints.endpoint import ConductorEndpoint
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose


class MaintenanceEndpoint(ConductorEndpoint):
    @expose
    def check_store(self, ctxt: RequestContext) -> None:
        self._conductor.store.check_replicas()

    @expose
    def store_sizes(self, ctxt: RequestContext) -> objects.StoreSizes:
        return objects.StoreSizes.of_sizes(self._conductor.bounds.observe(self._conductor.store.sizes()))

    @expose
    def object_backport_versions(
        self, ctxt: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> dict[str, Any]:
        # The serializer has already decoded the primitive.
        return backport(objinst, object_versions)
