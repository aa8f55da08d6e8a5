# SPDX-License-Identifier: Apache-2.0
"""Client of the conductor: versions and arguments."""

from types import SimpleNamespace

import pytest

from rpcapi import context
from rpcapi.clients import conductor
from rpcapi.clients.conductor import ConductorAPI


@pytest.fixture
def call(sender, options):
    """Return a function that calls a method and returns its version and what was sent."""

    def call_method(method, arguments):
        getattr(ConductorAPI(options, None), method)(context.new(), **arguments)
        return sender.prepared["version"], sender.sent

    return call_method


@pytest.mark.parametrize(
    ("method", "arguments", "version", "values"),
    [
        (
            "build_instances",
            {"spec": "spec", "uuids": ["u"], "first_sent": 7.5},
            "1.0",
            {"spec": "spec", "uuids": ["u"], "names": [], "first_sent": 7.5},
        ),
        (
            "build_instances",
            {"spec": "spec", "uuids": ["u"], "names": ("web",), "first_sent": 7.5},
            "1.0",
            {"spec": "spec", "uuids": ["u"], "names": ["web"], "first_sent": 7.5},
        ),
        ("get_quota", {"project": "p"}, "1.0", {"project": "p"}),
        ("report_builds", {"report": "report"}, "1.0", {"report": "report"}),
        ("delete_instances", {"uuids": ["u"]}, "1.0", {"uuids": ["u"]}),
        ("get_instances", {"uuids": ["u"]}, "1.0", {"uuids": ["u"]}),
        ("list_instances", {}, "1.0", {"marker": None, "limit": 1000, "deleted": False}),
        ("list_instances", {"marker": "m", "deleted": True}, "1.0", {"marker": "m", "limit": 1000, "deleted": True}),
        (
            "object_backport_versions",
            {"objinst": {}, "object_versions": {"Instance": "1.0"}},
            "1.0",
            {"objinst": {}, "object_versions": {"Instance": "1.0"}},
        ),
        (
            "adopt_instances",
            {"partition": "p", "host": "h", "uuids": ["a"]},
            "1.0",
            {"partition": "p", "host": "h", "uuids": ["a"]},
        ),
        ("release_orphans", {"host": "h", "refs": "refs"}, "1.0", {"host": "h", "refs": "refs"}),
        ("compare_instances", {"uuids": ["u"]}, "1.0", {"uuids": ["u"]}),
        (
            "end_leaked_migrations",
            {"partition": "p", "host": "h", "refs": "refs"},
            "1.0",
            {"partition": "p", "host": "h", "refs": "refs", "ends_running": False},
        ),
        (
            "end_leaked_migrations",
            {"partition": "p", "host": "h", "refs": "refs", "ends_running": True},
            "1.0",
            {"partition": "p", "host": "h", "refs": "refs", "ends_running": True},
        ),
        ("rebuild_instances", {"uuids": ["u"]}, "1.0", {"uuids": ["u"], "image": None}),
        (
            "rebuild_instances",
            {"uuids": ["u"], "image": {"id": "i"}},
            "1.0",
            {"uuids": ["u"], "image": {"id": "i"}},
        ),
        (
            "evacuate_instances",
            {"uuids": ["u"], "migrations": ["m"]},
            "1.0",
            {"uuids": ["u"], "migrations": ["m"], "target": None},
        ),
        ("list_guests", {"host": "h"}, "1.0", {"host": "h", "marker": None, "limit": 1000}),
        ("audit_hosts", {"partition": "cell1", "epoch": 7}, "1.0", {"partition": "cell1", "epoch": 7}),
    ],
)
def test_method_is_called_with_its_version_and_arguments(call, method, arguments, version, values):
    assert call(method, arguments) == (version, [("call", method, values)])


def test_check_of_unverified_claims_waits_for_no_answer(call):
    values = {"partition": "cell1", "host": "h", "refs": "refs"}
    assert call("check_unverified", values) == ("1.0", [("cast", "check_unverified", values)])


def test_request_is_first_sent_now_unless_the_caller_repeats_it(call, monkeypatch):
    monkeypatch.setattr(conductor, "time", SimpleNamespace(time=lambda: 1_700_000_000.0))
    _, ((_, _, values),) = call("build_instances", {"spec": "spec", "uuids": ["u"]})
    assert values["first_sent"] == 1_700_000_000.0


def test_repeated_request_may_have_an_unknown_time(call):
    version, ((_, _, values),) = call("build_instances", {"spec": "spec", "uuids": ["u"], "is_repeat": True})
    assert (version, values["first_sent"]) == ("1.0", None)


def test_topic_is_that_of_the_conductors(sender, options):
    ConductorAPI(options, None)
    assert sender.target.topic == "conductor"
