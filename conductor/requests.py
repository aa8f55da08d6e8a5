# SPDX-License-Identifier: Apache-2.0
"""Taking requests in: checked, recorded, and from then on the saga's."""

import hashlib
import json
from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.store.interface import Store
from conductor.store.records import Request
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.model.request import check_spec, check_uuids

LOG = log.getLogger(__name__)


class Requests:
    """``wake`` is called when there is work; ``most`` is how many instances a request may carry."""

    def __init__(self, store: Store, wake: Callable[[], None], most: int) -> None:
        self._store = store
        self._wake = wake
        self._most = most

    def build(self, ctxt: RequestContext, spec: objects.RequestSpec, uuids: Sequence[str]) -> None:
        """Record the request, or find that it is recorded.

        Raises InvalidRequest's kinds and InstanceConflict, with nothing recorded, and StoreUnavailable.
        """
        check_spec(spec)
        check_uuids(uuids, self._most)
        request = Request(
            key=key_of(ctxt, spec, uuids),
            request_id=ctxt.request_id,
            project=ctxt.project_id or "",
            user=ctxt.user_id or "",
            flavor=spec.flavor,
            spec=spec.obj_to_primitive(),
        )
        if self._store.record(request, uuids):
            LOG.info("Recorded %d instances to build", len(uuids))
        else:
            LOG.info("This request for %d instances is recorded already", len(uuids))
        self._wake()


def key_of(ctxt: RequestContext, spec: objects.RequestSpec, uuids: Sequence[str]) -> str:
    """Return the identity of a request: who asks for what under which uuids.

    The request id is no part of it. A caller that repeats a call may use a new one, and one that splits its
    instances over several calls may use one for all.
    """
    asked = {name: getattr(spec, name) for name in sorted(spec.fields)}
    identity = [ctxt.project_id or "", ctxt.user_id or "", asked, sorted(uuids)]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
