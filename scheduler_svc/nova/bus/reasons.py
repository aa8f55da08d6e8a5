# SPDX-License-Identifier: Apache-2.0
"""Refusal reasons in Nova's words; without numbers, because tenants see them."""

from collections.abc import Mapping

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc.core.prefilters import tenant_aggregates
from scheduler_svc.nova.bus import exceptions
from scheduler_svc.scheduling.refusals import NO_HOSTS

# Do not leak store details to tenants; they are logged.
STORE_AWAY = "The placement of servers is not available at the moment."
NO_AGGREGATE = "Scheduling failed: No hosts available for tenant"


def nova_error(error: errors.GanttError) -> exceptions.NovaError:
    if isinstance(error, errors.ClaimError):
        consumer = str(error.kwargs.get("consumer", ""))
        return exceptions.AllocationUpdateFailed(consumer_uuid=consumer, error=error.sentence)
    if isinstance(error, errors.NoValidHost):
        return exceptions.NoValidHost(reason=_no_valid_host(error.reason, error.reasons))
    if isinstance(error, errors.StoreUnavailable):
        return exceptions.NoValidHost(reason=STORE_AWAY)
    return exceptions.NoValidHost(reason=error.sentence)


def _no_valid_host(reason: str, reasons: Mapping[str, int]) -> str:
    if reasons and transient.NOVA_JUST_OLD not in reasons:
        return exceptions.NOT_ENOUGH_HOSTS
    if reason == NO_HOSTS:
        return exceptions.NO_CANDIDATES
    return NO_AGGREGATE if reason.startswith(tenant_aggregates.REFUSAL) else reason
