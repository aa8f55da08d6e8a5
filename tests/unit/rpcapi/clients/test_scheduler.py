# SPDX-License-Identifier: Apache-2.0
"""Client of the scheduler: versions, canonical names, and the configured backend."""

import pytest

from rpcapi import context, errors
from rpcapi.clients.scheduler import BusBackend, SchedulerAPI


class RecordingBackend:
    """Fake of a scheduler backend; records its calls."""

    def __init__(self):
        self.calls = []

    def call(self, ctxt, version, method, /, **values):
        self.calls.append((version, method, values))


PAIR = ("host", "node")
LIST = {"namespace": "compute", "marker": None, "limit": 1000, "matching": None, "partition": None}
DECISIONS = {"partition": None, "marker": None, "limit": 100}


@pytest.mark.parametrize(
    ("method", "arguments", "version", "values"),
    [
        (
            "select_destinations",
            {"spec": "s", "uuids": ["u"]},
            "1.0",
            {"spec": "s", "uuids": ["u"], "attempt": 1, "alternates": 2, "fresh": False, "moves": []},
        ),
        (
            "select_destinations",
            {"spec": "s", "uuids": ["u"], "fresh": True, "moves": ({"role": "x"},)},
            "1.0",
            {"spec": "s", "uuids": ["u"], "attempt": 1, "alternates": 2, "fresh": True, "moves": [{"role": "x"}]},
        ),
        ("select_batch", {"requests": "r"}, "1.0", {"requests": "r", "details": False}),
        ("update_resource_stats", {"name": PAIR, "stats": "s"}, "1.0", {"name": "host/node", "stats": "s"}),
        ("get_host_state", {"namespace": "n", "name": PAIR}, "1.0", {"namespace": "n", "name": "host/node"}),
        ("list_host_state", {"namespace": "compute"}, "1.0", LIST),
        ("list_host_state", {"namespace": "compute", "matching": {"a": 1}}, "1.0", LIST | {"matching": {"a": 1}}),
        ("list_host_state", {"namespace": "compute", "partition": "p"}, "1.0", LIST | {"partition": "p"}),
        ("update_host_state", {"state": "s", "writer": "w"}, "1.0", {"state": "s", "writer": "w"}),
        (
            "delete_host_state",
            {"namespace": "n", "name": PAIR, "version": 3, "writer": "w"},
            "1.0",
            {"namespace": "n", "name": "host/node", "version": 3, "writer": "w"},
        ),
        ("update_aggregates", {"aggregates": []}, "1.0", {"aggregates": [], "force": False}),
        ("delete_aggregate", {"name": "a"}, "1.0", {"name": "a", "version": None, "force": False}),
        ("remove_host", {"host": "h"}, "1.0", {"host": "h"}),
        ("list_partitions", {}, "1.0", {}),
        (
            "report_service",
            {"binary": "b", "host": "h", "versions": {"conductor": "1.9"}},
            "1.0",
            {"binary": "b", "host": "h", "versions": {"conductor": "1.9"}, "partition": None},
        ),
        ("get_oldest_versions", {}, "1.0", {}),
        ("explain", {"request_id": "r"}, "1.0", {"request_id": "r"}),
        ("dry_run", {"spec": "s", "count": 2}, "1.0", {"spec": "s", "count": 2, "scope": "all"}),
        ("list_filters", {"kind": "weigher"}, "1.0", {"kind": "weigher"}),
        ("list_decisions", {"partition": "p"}, "1.0", DECISIONS | {"partition": "p"}),
    ],
)
def test_method_is_called_with_its_version_and_arguments(method, arguments, version, values):
    backend = RecordingBackend()
    getattr(SchedulerAPI(None, None, backend), method)(context.new(), **arguments)
    assert backend.calls == [(version, method, values)]


@pytest.mark.parametrize("method", ["get_host_state", "update_resource_stats", "delete_host_state"])
def test_invalid_name_is_refused_before_the_call(method):
    backend = RecordingBackend()
    rest = {"update_resource_stats": ["stats"], "get_host_state": [], "delete_host_state": [1, "w"]}[method]
    leading = [] if method == "update_resource_stats" else ["n"]
    with pytest.raises(errors.InvalidName):
        getattr(SchedulerAPI(None, None, backend), method)(context.new(), *leading, "a b", *rest)
    assert not backend.calls


def test_default_backend_calls_the_scheduler_over_the_bus(sender, options):
    SchedulerAPI(options, None).list_partitions(context.new())
    assert (sender.target.topic, sender.target.version) == ("scheduler", "1.0")
    assert sender.sent == [("call", "list_partitions", {})]
    assert SchedulerAPI.VERSION == BusBackend.VERSION
