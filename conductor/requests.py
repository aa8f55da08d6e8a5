# SPDX-License-Identifier: Apache-2.0
"""Intake of build requests: validates and records them for the saga."""

import hashlib
import json
from collections.abc import Callable, Sequence

from oslo_log import log

from conductor.store.interface import ConductorStore
from conductor.store.records import BuildRequestRecord
from rpcapi import objects
from rpcapi.context import RequestContext
from rpcapi.objects.request_validation import check_spec
from rpcapi.validation.instances import check_uuids

LOG = log.getLogger(__name__)


class BuildRequests:
    """Records build requests.

    ``wake`` is called when there is work; ``max_instances`` limits the instances of a request.
    """

    def __init__(self, store: ConductorStore, wake: Callable[[], None], max_instances: int) -> None:
        self._store = store
        self._wake = wake
        self._max_instances = max_instances

    def build(self, ctxt: RequestContext, spec: objects.RequestSpec, uuids: Sequence[str]) -> None:
        """Record the request; does nothing if it is already recorded.

        Raises InvalidRequest or a subclass, InstanceConflict, or StoreUnavailable; then nothing is recorded.
        """
        check_spec(spec)
        check_uuids(uuids, self._max_instances)
        request = BuildRequestRecord(
            key=compute_request_key(ctxt, spec, uuids),
            request_id=ctxt.request_id,
            project=ctxt.project_id or "",
            user=ctxt.user_id or "",
            flavor=spec.flavor,
            spec=spec.obj_to_primitive(),
        )
        if self._store.record(request, uuids):
            LOG.info("Recorded %d instances to build", len(uuids))
        else:
            LOG.info("Request is already recorded: %d instances", len(uuids))
        self._wake()


def compute_request_key(ctxt: RequestContext, spec: objects.RequestSpec, uuids: Sequence[str]) -> str:
    """Return the identity of a request: a hash of project, user, spec and uuids.

    The request id is not part of it. A caller may repeat a call with a new id, or use one id for several calls.
    """
    spec_values = {name: getattr(spec, name) for name in sorted(spec.fields)}
    identity = [ctxt.project_id or "", ctxt.user_id or "", spec_values, sorted(uuids)]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
