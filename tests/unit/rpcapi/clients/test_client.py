# SPDX-License-Identifier: Apache-2.0
"""Clients: time-outs, destinations, version caps and errors."""

import sys
import time
import traceback

import oslo_messaging as messaging
import pytest
from kombu.exceptions import OperationalError
from oslo_messaging._drivers import common

from rpcapi import context, errors, objects
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import BusBackend
from rpcapi.messaging.drivers import errors as bus_errors


def test_call_without_deadline_waits_for_call_timeout(sender, options):
    ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert sender.prepared == {"version": "1.0", "timeout": 20.0, "call_monitor_timeout": 5.0}
    assert sender.sent == [("call", "get_instances", {"uuids": ["u"]})]


def test_call_waits_until_its_deadline_at_most(sender, options):
    ConductorAPI(options, None).get_instances(context.new(deadline=time.time() + 3), ["u"])
    assert 0 < sender.prepared["timeout"] <= 3


def test_end_of_the_wait_is_sent_as_deadline(sender, options):
    unlimited, limited = context.new(), context.new(deadline=time.time() + 3)
    before = time.time()
    for ctxt in (unlimited, limited):
        ConductorAPI(options, None).get_instances(ctxt, ["u"])
    assert before + 20 <= sender.contexts[0].deadline <= time.time() + 20
    assert sender.contexts[1].deadline == limited.deadline
    assert [ctxt.request_id for ctxt in sender.contexts] == [unlimited.request_id, limited.request_id]
    assert not unlimited.deadline, "the caller's context must not change"


@pytest.mark.parametrize(("monitor", "sent"), [(1.9, None), (2.0, 2.0), (19.0, 19.0), (20.0, None), (25.0, None)])
def test_heartbeats_are_requested_when_possible_and_useful(sender, options, monitor, sent):
    options.set_override("call_monitor_timeout", monitor, group="rpc")
    ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert sender.prepared["call_monitor_timeout"] == sent


@pytest.mark.parametrize(("monitor", "waits"), [(1.9, 20.0), (2.0, 2.0), (19.0, 19.0), (20.0, 20.0)])
def test_short_call_times_out_like_a_monitored_call(sender, options, monitor, waits):
    options.set_override("call_monitor_timeout", monitor, group="rpc")
    BusBackend(options, None).call(context.new(), "1.0", "select_destinations")
    assert (sender.prepared["timeout"], sender.prepared["call_monitor_timeout"]) == (waits, None)


def test_call_after_its_deadline_does_not_wait(sender, options):
    ConductorAPI(options, None).get_instances(context.new(deadline=time.time() - 3), ["u"])
    assert 0 < sender.prepared["timeout"] < 0.01


@pytest.mark.parametrize("refusal", [messaging.NoSuchMethod("audit_hosts"), messaging.UnsupportedVersion("1.0")])
def test_missing_method_raises_unknown_method(sender, options, refusal):
    sender.fails_with(refusal)
    with pytest.raises(errors.UnknownMethod, match=r"'conductor' has no method 'audit_hosts' in version 1\.0"):
        ConductorAPI(options, None).audit_hosts(context.new(), "cell1", 1)


def remote(error):
    """Return ``error`` as delivered by oslo.messaging."""
    try:
        raise error
    except errors.GanttError:
        return common.deserialize_remote_exception(common.serialize_remote_exception(sys.exc_info()), ["rpcapi.errors"])


def test_error_is_raised_as_the_service_raised_it(sender, options):
    delivered = remote(errors.NoValidHost(reason="all 3 hosts are full", reasons={"VCPU": 3}))
    assert "Traceback" in str(delivered) and type(delivered) is not errors.NoValidHost  # else this test would be void

    sender.fails_with(delivered)
    with pytest.raises(errors.NoValidHost) as caught:
        ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert type(caught.value) is errors.NoValidHost
    assert str(caught.value) == caught.value.sentence == "No valid host: all 3 hosts are full"
    assert caught.value.kwargs == {"reason": "all 3 hosts are full", "reasons": {"VCPU": 3}}
    assert "_Remote" not in "".join(traceback.format_exception(caught.value))


def test_local_error_is_raised_unchanged(sender, options):
    local_error = errors.IncompatibleObject(name="InstancePage", version="9.0", supported="1.0")

    sender.fails_with(local_error)
    with pytest.raises(errors.IncompatibleObject) as caught:
        ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert caught.value is local_error


@pytest.fixture
def sends(sender, options):
    """Return functions that call, cast and fan out."""
    compute, refs = ComputeAPI(options, None), objects.ClaimRefs.of(consumers=[], attempts=[])
    return {
        "call": lambda: ConductorAPI(options, None).get_instances(context.new(), ["u"]),
        "cast": lambda: compute.terminate_instances(context.new(), "host1", refs),
        "fanout": lambda: compute.audit(context.new(), "cell1", 7),
    }


@pytest.mark.parametrize("bus_error", [messaging.MessageDeliveryFailure("refused"), OperationalError("refused")])
@pytest.mark.parametrize("kind", ["call", "cast", "fanout"])
def test_unreachable_bus_raises_unavailable(sender, sends, bus_error, kind):
    sender.fails_with(bus_error)
    with pytest.raises(errors.Unavailable, match="The message bus cannot be reached: refused"):
        sends[kind]()


def as_client_send_error(cause):
    """Return the error that oslo.messaging's client raises for an error of a driver."""
    try:
        try:
            raise cause
        except bus_errors.BusError as error:
            raise messaging.ClientSendError(messaging.Target(topic="conductor"), error)  # noqa: B904 - as oslo.messaging does
    except messaging.ClientSendError as error:
        return error


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (bus_errors.BusRefused("no permission"), errors.Unavailable(what="The message bus", why="no permission")),
        (
            bus_errors.MessageTooLarge(20, 10),
            errors.RequestTooLarge(count=20, unit="bytes", option="[rpc] max_message_bytes", bound=10),
        ),
        (bus_errors.MessageForeign("odd"), None),
    ],
)
@pytest.mark.parametrize("kind", ["call", "cast"])
def test_driver_error_raises_a_gantt_error(sender, sends, cause, expected, kind):
    wrapped = as_client_send_error(cause)
    sender.fails_with(wrapped)
    expected = expected or wrapped
    with pytest.raises(type(expected)) as caught:
        sends[kind]()
    assert str(caught.value) == str(expected)


def test_version_cap_is_passed_to_the_bus(sender, options):
    options.set_override("claims", "1.0", group="upgrade_levels")
    client = ClaimsAPI(options, None, "cell1")
    client.verify(context.new())
    assert sender.prepared["version_cap"] == "1.0"
    # a reloaded configuration applies to the next call
    options.clear_override("claims", group="upgrade_levels")
    client.verify(context.new())
    assert "version_cap" not in sender.prepared
