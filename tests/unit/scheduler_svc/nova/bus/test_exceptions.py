# SPDX-License-Identifier: Apache-2.0
"""Errors as Nova's services receive them."""

import json
import sys

import pytest
from oslo_messaging._drivers import common

from rpcapi import errors
from scheduler_svc.core.filters import resources
from scheduler_svc.nova import service_filter
from scheduler_svc.nova.bus import exceptions
from scheduler_svc.scheduling import refusals


def on_the_wire(error):
    try:
        raise error
    except exceptions.NovaError:
        return json.loads(common.serialize_remote_exception(sys.exc_info()))


def test_no_valid_host_is_the_class_of_novas_module():
    sent = on_the_wire(exceptions.NoValidHost(reason="There are not enough hosts available."))
    assert (sent["class"], sent["module"]) == ("NoValidHost", "nova.exception")
    assert sent["kwargs"] == {"reason": "There are not enough hosts available.", "code": 500}
    assert sent["args"] == ["No valid host was found. There are not enough hosts available."]


FULL, DOWN = resources.REASON.format("VCPU"), service_filter.REASON_DOWN


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({FULL: 3, DOWN: 1}, "There are not enough hosts available."),
        ({refusals.REASONS["FULL"]: 1}, "There are not enough hosts available."),
        ({}, ""),
    ],
)
def test_reason_has_no_numbers_and_is_empty_without_hosts(counts, reason):
    error = exceptions.nova_error(refusals.no_valid_host(counts))
    assert isinstance(error, exceptions.NoValidHost)
    assert error.kwargs["reason"] == reason
    assert "VCPU" not in str(error), "tenants see it"


def test_claim_of_another_owner_is_an_update_that_failed():
    error = exceptions.nova_error(
        errors.ClaimConflict(consumer="c", attempt=1, why="conflict", host="h", partition="p")
    )
    assert on_the_wire(error)["class"] == "AllocationUpdateFailed"
    assert error.kwargs["consumer_uuid"] == "c"


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ("no aggregate for project 'p'", "Scheduling failed: No hosts available for tenant"),
        ("Nova's databases were last read 400 s ago", "Nova's databases were last read 400 s ago"),
    ],
)
def test_refusal_before_hosts_are_looked_at_has_its_reason(own, reason):
    assert exceptions.nova_error(errors.NoValidHost(reason=own, reasons={})).kwargs["reason"] == reason


def test_tenants_do_not_read_where_the_store_is():
    error = exceptions.nova_error(errors.StoreUnavailable(why="ConnectionError: 111 connecting to 192.0.2.1:6379"))
    assert isinstance(error, exceptions.NoValidHost)
    assert str(error) == "No valid host was found. The placement of servers is not available at the moment."
