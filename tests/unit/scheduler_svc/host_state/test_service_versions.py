# SPDX-License-Identifier: Apache-2.0
"""RPC versions in the documents of services."""

import pytest

from rpcapi import errors
from scheduler_svc.host_state.service_versions import (
    OLDER_ENDED_MS,
    check_versions,
    merge_report,
    oldest_versions,
    register_versions,
    report_service,
)
from scheduler_svc.store.memory import MemoryStore

OLD, NEW = {"conductor": "1.9"}, {"conductor": "1.10"}
NAME = "gantt-conductor@m1"


def shown(store, name=NAME):
    document = store.get_state("service", name)[1]
    return document.get("rpc_versions"), document.get("older_seen_ms")


@pytest.fixture
def service():
    """Return a store with a service, and a function that sends its heartbeat at some time."""
    store, clock = MemoryStore("default"), [0]

    def beat(versions, after_ms=0):
        clock[0] += after_ms
        assert report_service(store, "m1", "gantt-conductor", versions, lambda: clock[0]) == NAME
        return shown(store)

    return store, beat


def test_first_report_of_a_service_has_its_versions(service):
    _store, beat = service
    assert beat(NEW) == (NEW, None)


def test_repeated_reports_write_nothing(service):
    store, beat = service
    beat(NEW)
    position = store.state.position
    beat(NEW, 10 * OLDER_ENDED_MS)
    assert store.state.position == position


@pytest.mark.parametrize("older", [OLD, None])
def test_older_process_counts_until_it_has_ended(service, older):
    _store, beat = service
    beat(older)
    assert beat(NEW, 5)[0] == older, "both run"
    for _ in range(10):
        assert beat(older, OLDER_ENDED_MS // 2)[0] == older
        assert beat(NEW, 1)[0] == older
    assert beat(NEW, OLDER_ENDED_MS // 2)[0] == older
    assert beat(NEW, OLDER_ENDED_MS) == (NEW, None)


@pytest.mark.parametrize("older", [OLD, None])
def test_older_process_counts_at_once_on_the_way_back(service, older):
    _store, beat = service
    beat(NEW)
    assert beat(older, 1) == (older, 1)
    assert beat(NEW, 1)[0] == older


def test_three_releases_count_as_the_oldest():
    assert merge_report({"rpc_versions": NEW, "older_seen_ms": 1}, OLD, 2) == {"rpc_versions": OLD, "older_seen_ms": 2}


def test_agent_that_registers_replaces_what_the_former_one_reported(service):
    store, _beat = service
    store.heartbeat("h1", "gantt-compute")
    for versions in ({"compute": "1.4"}, None, {"compute": "1.3"}):
        register_versions(store, "h1", versions)
        assert shown(store, "h1") == (versions, None)
    register_versions(store, "removed", {"compute": "1.4"})
    assert "removed" not in [name for name, *_rest in store.list_state("service")[0]]


def service_document(binary, versions, alive=True):
    return {"binary": binary, "alive": alive, "rpc_versions": versions}


def test_oldest_versions_are_those_of_living_services():
    documents = [
        service_document("gantt-conductor", {"conductor": "1.9"}),
        service_document("gantt-conductor", {"conductor": "1.10"}),
        service_document("gantt-scheduler", {"scheduler": "1.7", "claims": "1.8"}),
        service_document("gantt-scheduler", {"scheduler": "1.6", "claims": "1.9"}),
        service_document("gantt-compute", {"compute": "1.4"}),
        service_document("gantt-compute", None),
        service_document("gantt-compute", {"compute": "1.2"}, alive=False),
        service_document("gantt-compute", {"compute": "1.0"}),  # unsupported
        service_document("gantt-other", None),
    ]
    expected = {"conductor": "1.9", "scheduler": "1.6", "claims": "1.8", "compute": None}
    assert oldest_versions(documents) == oldest_versions(reversed(documents)) == expected
    assert oldest_versions([]) == {}
    assert oldest_versions([service_document("gantt-compute", {"compute": "0.1"})]) == {}


@pytest.mark.parametrize(
    "versions",
    [
        [],
        "1.0",
        {"a": 1},
        {"a": "1"},
        {"a": "v1.0"},
        {1: "1.0"},
        {"a": "1.0\n"},
        {"a": "1.00"},
        {"A": "1.0"},
        {"abcdefghi"[i]: "1.0" for i in range(9)},
    ],
)
def test_malformed_versions_are_refused(versions):
    with pytest.raises(errors.InvalidRequest, match="versions must map at most 8 topics"):
        check_versions("gantt-other", versions)


@pytest.mark.parametrize("versions", [{"claims": "1.1"}, {"scheduler": "1.1", "conductor": "1.1"}])
def test_versions_without_a_topic_of_the_service_are_refused(versions):
    with pytest.raises(errors.InvalidRequest, match="versions of gantt-scheduler must have topic"):
        check_versions("gantt-scheduler", versions)


@pytest.mark.parametrize("versions", [None, {}])
def test_service_may_report_no_versions(versions):
    assert check_versions("gantt-conductor", versions) is None
