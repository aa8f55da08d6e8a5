# SPDX-License-Identifier: Apache-2.0
"""Intake of build requests: validate and record them for the saga."""

import hashlib
import json
import math
import time
from collections.abc import Mapping, Sequence

from oslo_log import log

from conductor.collaborators import Conductor, answered
from conductor.lookup import check_project
from conductor.store.bounds import OPTIONS
from conductor.store.records import BuildRequestRecord, make_request_key
from rpcapi import errors, objects
from rpcapi.context import MAX_ID, RequestContext
from rpcapi.objects.request_schema import canonical, check_spec
from rpcapi.validation.hints import named_instances
from rpcapi.validation.instances import check_names, check_uuids
from rpcapi.validation.text import abbreviate

LOG = log.getLogger(__name__)

MAX_CLOCK_LEAD = 2.0  # seconds by which a caller's clock may be ahead of this machine's


def build(
    conductor: Conductor,
    ctxt: RequestContext,
    spec: objects.RequestSpec,
    uuids: Sequence[str],
    names: Sequence[str] = (),
    *,
    first_sent: float | None = None,
) -> None:
    """Validate a build request and record it for the saga. Idempotent.

    ``names``: display names, empty or one per instance. ``first_sent``: Unix time in seconds of the caller's first try.
    Raises InvalidRequest or a subclass (CallerRefused for a hint to another project's instance), NotFound,
    GroupContradicted, InstanceConflict, QuotaExceeded, DeadlinePassed, StoreFull or Unavailable before any change.
    """
    check_spec(spec)
    spec = canonical(spec)
    check_uuids(uuids, conductor.max_instances)
    check_names(names, len(uuids))
    if ctxt.sender_project is not None and spec.hints:
        hinted = conductor.store.get(sorted(named_instances(spec.hints)))
        check_project(conductor.store, hinted.values(), ctxt.sender_project, "build_instances")
    names_by_uuid = dict(zip(uuids, names, strict=False))
    key = compute_request_key(ctxt, spec, uuids, names_by_uuid)
    if spec.group_id is not None and not conductor.store.requests([key]):
        get_group = conductor.clients.scheduler.get_server_group  # moves and agents need the policy of the group
        spec = answered("The scheduler", get_group, ctxt, spec.group_id, ctxt.project_id or "").apply_to(spec)
    request = BuildRequestRecord(
        key=key,
        request_id=ctxt.request_id,
        project=ctxt.project_id or "",
        user=ctxt.user_id or "",
        flavor=spec.flavor,
        spec=spec.obj_to_primitive(),
        names=names_by_uuid,
    )
    _check_bounds(conductor, request.key)
    conductor.limits.check_spec_size(request.spec)
    admission = conductor.limits.of_request(request.project, spec)
    deadline_ms = int(1000 * ctxt.deadline) or None
    if conductor.store.record(request, uuids, _to_past_ms(first_sent), admission, deadline_ms):
        LOG.info("Recorded %d instances to build", len(uuids))
    else:
        LOG.info("Request is already recorded: %d instances", len(uuids))
    conductor.wake()


def quota(conductor: Conductor, project: str) -> objects.ProjectQuota:
    if len(project) > MAX_ID or not project.isprintable():
        raise errors.InvalidRequest(
            why=f"project must have at most {MAX_ID} printable characters, not {abbreviate(project)}"
        )
    return objects.ProjectQuota.of_usage(conductor.store.usage(project), conductor.limits.of_project(project))


def _check_bounds(conductor: Conductor, key: str) -> None:
    try:
        conductor.bounds.check(*OPTIONS)
    except errors.StoreFull:
        if not conductor.store.requests([key]):
            raise


def _to_past_ms(first_sent: float | None) -> int | None:
    """Return Unix milliseconds; None if unknown, or in the future because the caller's clock is wrong."""
    if first_sent is None:
        return None
    if isinstance(first_sent, bool) or not isinstance(first_sent, int | float) or not math.isfinite(first_sent):
        raise errors.InvalidRequest(why="first_sent must be a Unix time in seconds")
    return None if first_sent > time.time() + MAX_CLOCK_LEAD else int(1000 * first_sent)


def compute_request_key(
    ctxt: RequestContext, spec: objects.RequestSpec, uuids: Sequence[str], names_by_uuid: Mapping[str, str]
) -> str:
    """Hash the call without its request id: retries may have new ids, different calls the same id."""
    # values_set() skips defaults: a retry by a client that lacks a new field still gets the same key.
    identity = [ctxt.project_id or "", ctxt.user_id or "", spec.values_set(), sorted(uuids), dict(names_by_uuid)]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return make_request_key(ctxt.project_id or "", digest)
