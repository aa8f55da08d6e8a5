# SPDX-License-Identifier: Apache-2.0
"""How a client sends: until when it waits, to whom, and at which version."""

import sys
import time
import traceback

import oslo_messaging as messaging
import pytest
from kombu.exceptions import OperationalError
from oslo_messaging._drivers import common

from rpcapi import bus, context, errors, objects
from rpcapi import conf as rpc_conf
from rpcapi.claims import ClaimsAPI
from rpcapi.compute import ComputeAPI
from rpcapi.conductor import ConductorAPI
from rpcapi.drivers import errors as bus_errors
from rpcapi.scheduler import BusBackend


class Sender:
    """Stands in for oslo.messaging's client; notes what it was prepared with and asked."""

    def __init__(self):
        self.prepared = {}
        self.sent = []
        self.contexts = []

    def prepare(self, **options):
        self.prepared = options
        return self

    def call(self, ctxt, method, **values):
        self.contexts.append(ctxt)
        self.sent.append(("call", method, values))

    def cast(self, ctxt, method, **values):
        self.contexts.append(ctxt)
        self.sent.append(("cast", method, values))

    def fails_with(self, error):
        """Let whatever is sent from now on raise ``error``."""

        def fail(ctxt, method, **values):
            raise error

        self.call = self.cast = fail


@pytest.fixture
def sender(monkeypatch):
    made = Sender()

    def get_client(transport, target, **options):
        made.target = target
        made.options = options
        return made

    monkeypatch.setattr(bus, "get_client", get_client)
    return made


@pytest.fixture
def options(conf):
    rpc_conf.register_opts(conf)
    conf.set_override("call_timeout", 20.0, group="rpc")
    conf.set_override("call_monitor_timeout", 5.0, group="rpc")
    return conf


def test_a_call_without_a_deadline_waits_for_the_configured_time(sender, options):
    ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert sender.prepared == {"version": "1.0", "timeout": 20.0, "call_monitor_timeout": 5.0}
    assert sender.sent == [("call", "get_instances", {"uuids": ["u"]})]


def test_a_call_waits_no_longer_than_its_deadline(sender, options):
    ConductorAPI(options, None).get_instances(context.new(deadline=time.time() + 3), ["u"])
    assert 0 < sender.prepared["timeout"] <= 3


def test_the_end_of_the_wait_travels_with_the_call(sender, options):
    patient, hurried = context.new(), context.new(deadline=time.time() + 3)
    before = time.time()
    for ctxt in (patient, hurried):
        ConductorAPI(options, None).get_instances(ctxt, ["u"])
    assert before + 20 <= sender.contexts[0].deadline <= time.time() + 20
    assert sender.contexts[1].deadline == hurried.deadline
    assert [each.request_id for each in sender.contexts] == [patient.request_id, hurried.request_id]
    assert not patient.deadline, "the caller's own context is as it was"


@pytest.mark.parametrize(("monitor", "sent"), [(1.9, None), (2.0, 2.0), (19.0, 19.0), (20.0, None), (25.0, None)])
def test_signs_of_life_are_asked_for_where_they_can_come_and_are_of_use(sender, options, monitor, sent):
    options.set_override("call_monitor_timeout", monitor, group="rpc")
    ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert sender.prepared["call_monitor_timeout"] == sent


@pytest.mark.parametrize(("monitor", "waits"), [(1.9, 20.0), (2.0, 2.0), (19.0, 19.0), (20.0, 20.0)])
def test_a_prompt_call_is_given_up_as_soon_without_signs_of_life(sender, options, monitor, waits):
    options.set_override("call_monitor_timeout", monitor, group="rpc")
    BusBackend(options, None).call(context.new(), "1.0", "select_destinations")
    assert (sender.prepared["timeout"], sender.prepared["call_monitor_timeout"]) == (waits, None)


def test_a_call_after_its_deadline_does_not_wait(sender, options):
    ConductorAPI(options, None).get_instances(context.new(deadline=time.time() - 3), ["u"])
    assert 0 < sender.prepared["timeout"] < 0.01


@pytest.mark.parametrize("refusal", [messaging.NoSuchMethod("audit_hosts"), messaging.UnsupportedVersion("1.1")])
def test_a_service_that_is_older_than_the_method_is_told_by_name(sender, options, refusal):
    sender.fails_with(refusal)
    with pytest.raises(errors.UnknownMethod, match=r"'conductor' has no method 'audit_hosts' in version 1\.1"):
        ConductorAPI(options, None).audit_hosts(context.new(), "cell1", 1)


def remote(error):
    """Return ``error`` as oslo.messaging delivers it to a caller."""
    try:
        raise error
    except errors.GanttError:
        return common.deserialize_remote_exception(common.serialize_remote_exception(sys.exc_info()), ["rpcapi.errors"])


def test_an_error_arrives_as_its_service_raised_it(sender, options):
    arrived = remote(errors.NoValidHost(reason="all 3 hosts are full", reasons={"VCPU": 3}))
    assert "Traceback" in str(arrived) and type(arrived) is not errors.NoValidHost  # else there is nothing to mend

    sender.fails_with(arrived)
    with pytest.raises(errors.NoValidHost) as caught:
        ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert type(caught.value) is errors.NoValidHost
    assert str(caught.value) == caught.value.sentence == "No valid host: all 3 hosts are full"
    assert caught.value.kwargs == {"reason": "all 3 hosts are full", "reasons": {"VCPU": 3}}
    assert "_Remote" not in "".join(traceback.format_exception(caught.value))


def test_an_error_of_this_side_stays_the_one_it_is(sender, options):
    own = errors.IncompatibleObject(name="InstancePage", version="9.0", supported="1.0")

    sender.fails_with(own)
    with pytest.raises(errors.IncompatibleObject) as caught:
        ConductorAPI(options, None).get_instances(context.new(), ["u"])
    assert caught.value is own


@pytest.fixture
def sends(sender, options):
    """Every way to send."""
    compute, refs = ComputeAPI(options, None), objects.ClaimRefs.of(consumers=[], attempts=[])
    return {
        "call": lambda: ConductorAPI(options, None).get_instances(context.new(), ["u"]),
        "cast": lambda: compute.terminate_instances(context.new(), "host1", refs),
        "fanout": lambda: compute.audit(context.new(), "cell1", 7),
    }


@pytest.mark.parametrize("away", [messaging.MessageDeliveryFailure("refused"), OperationalError("refused")])
@pytest.mark.parametrize("kind", ["call", "cast", "fanout"])
def test_a_bus_that_is_away_is_an_error_of_ours(sender, sends, away, kind):
    sender.fails_with(away)
    with pytest.raises(errors.Unavailable, match="The message bus cannot be reached: refused"):
        sends[kind]()


def sent_in_vain(cause):
    """Return what oslo.messaging's client makes of an error of a driver."""
    try:
        try:
            raise cause
        except bus_errors.BusError as error:
            raise messaging.ClientSendError(messaging.Target(topic="conductor"), error)  # noqa: B904 - as it does
    except messaging.ClientSendError as made:
        return made


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (bus_errors.BusRefused("no permission"), errors.Unavailable(what="The message bus", why="no permission")),
        (bus_errors.MessageTooLarge("20 MB"), errors.InvalidRequest(why="20 MB")),
        (bus_errors.MessageForeign("odd"), None),
        (type("MessageTooLarge_Remote", (bus_errors.MessageTooLarge,), {})("carried out"), None),
    ],
)
@pytest.mark.parametrize("kind", ["call", "cast"])
def test_what_a_driver_refuses_is_an_error_of_ours(sender, sends, cause, told, kind):
    wrapped = sent_in_vain(cause)
    sender.fails_with(wrapped)
    told = told or wrapped
    with pytest.raises(type(told)) as caught:
        sends[kind]()
    assert str(caught.value) == str(told)


def test_claims_of_a_partition_have_a_topic_of_their_own(sender, options):
    ClaimsAPI(options, None, "cell1").verify(context.new())
    assert (sender.target.topic, sender.target.version) == ("claims.cell1", "1.0")


def test_a_cap_is_handed_to_the_bus(sender, options):
    options.set_override("claims", "1.0", group="upgrade_levels")
    ClaimsAPI(options, None, "cell1")
    assert sender.options["version_cap"] == "1.0"


def test_an_agent_is_sent_to_by_name_and_an_audit_to_all(sender, options):
    refs = objects.ClaimRefs.of(consumers=[], attempts=[])
    ComputeAPI(options, None).terminate_instances(context.new(), "host1", refs)
    assert sender.prepared == {"version": "1.0", "server": "host1"}
    ComputeAPI(options, None).audit(context.new(), "cell1", 7)
    assert sender.prepared == {"version": "1.0", "fanout": True}
    assert sender.sent[-1] == ("cast", "audit", {"partition": "cell1", "epoch": 7})
