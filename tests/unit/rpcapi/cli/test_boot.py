# SPDX-License-Identifier: Apache-2.0
"""``gantt boot``: the sent request, the output, and the exit code."""

import pytest


def test_boot_prints_the_servers_and_the_request_id(cluster, gantt):
    result = gantt("boot", "--flavor", "m1.small", "--count", "3", "-f", "json")
    (spec, uuids) = cluster.conductor.builds[0]
    assert (result.code, [row["uuid"] for row in result.json]) == (0, uuids)
    assert len(set(uuids)) == 3
    assert spec.resources == {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}
    assert {row["request_id"] for row in result.json} == {cluster.conductor.contexts[0].request_id}
    assert f"Request {cluster.conductor.contexts[0].request_id}" in result.err


def test_wait_returns_when_all_are_active(cluster, gantt):
    result = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json")
    assert result.code == 0
    assert [(row["status"], row["host"]) for row in result.json] == [("ACTIVE", "host1/node1")] * 2


def test_wait_fails_when_a_server_ends_in_error(cluster, gantt):
    cluster.conductor.ends = iter(["ACTIVE", "ERROR"])
    result = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json")
    assert result.code == 1
    assert [(row["status"], row["reason"]) for row in result.json] == [
        ("ACTIVE", None),
        ("ERROR", "no valid host: 3 VCPU"),
    ]
    assert "1 of 2 are ACTIVE; 1 in ERROR: `gantt explain req-" in result.err
    assert "server list" not in result.err


def test_wait_ends_at_its_timeout_with_the_present_records(cluster, gantt):
    cluster.conductor.stuck = True
    result = gantt("boot", "--flavor", "m1.tiny", "--wait", "--timeout", "0.2", "-f", "json")
    assert (result.code, result.json[0]["status"]) == (1, "SCHEDULING")
    request_id = cluster.conductor.contexts[0].request_id
    message = f"1 still SCHEDULING after 0.2 s: `gantt server list --request {request_id}` follows them"
    assert f"0 of 1 are ACTIVE; {message}" in result.err
    assert "explain" not in result.err


@pytest.mark.parametrize(("count", "names"), [("1", ["web"]), ("3", ["web-1", "web-2", "web-3"])])
def test_servers_get_the_name_with_a_number_if_there_are_several(cluster, gantt, count, names):
    result = gantt("boot", "--flavor", "m1.tiny", "--name", "web", "--count", count, "-f", "json")
    assert (result.code, [row["name"] for row in result.json]) == (0, names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--flavor", "m1.none"], "Unknown flavor 'm1.none'; known: m1.large"),
        (["--flavor", "m1.tiny", "--count", "0"], "1 to 1000 instances, not 0"),
        (["--flavor", "m1.tiny", "--count", "100000"], "1 to 1000 instances, not 100000"),
        (["--flavor", "m1.tiny", "--trait", "HW_NONE"], "Unknown trait 'HW_NONE'"),
        (["--flavor", "m1.tiny", "--trait", "CUSTOM_A", "--trait", "!CUSTOM_A"], "requires and forbids CUSTOM_A"),
        (["--flavor", "m1.tiny", "--hint", "same_host=me"], "hints.same_host[0] must be the uuid of an instance"),
        (["--flavor", "m1.tiny", "--hint", "query=[1"], "hint 'query'"),
        (["--flavor", "m1.tiny", "--image", "none"], "Unknown image 'none'; known: none"),
        (["--flavor", "m1.tiny", "--property", "hw_numa_nodes=3"], "does not evenly divide"),
        (["--flavor", "m1.tiny", "--port", "vnic=direct"], "needs egress_kbps or ingress_kbps"),
        (["--flavor", "m1.tiny", "--host", "a b"], "'a b' is not a resource name"),
        (["--flavor", "m1.tiny", "--name", " "], "' ' is not the name of an instance"),
    ],
)
def test_invalid_request_is_one_line_and_not_sent(cluster, gantt, options, message):
    result = gantt("boot", *options)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert result.err.count("\n") == 1
    assert cluster.conductor.builds == []


def test_boot_with_a_uuid(cluster, gantt):
    uuid = "00000000-0000-4000-8000-000000000007"
    assert gantt("boot", "--flavor", "m1.tiny", "--uuid", uuid).code == 0
    assert cluster.conductor.builds[0][1] == [uuid]
    assert cluster.conductor.first_sent == [None]
    result = gantt("boot", "--flavor", "m1.tiny", "--uuid", uuid, "--count", "2")
    assert result.code == 1
    assert "--uuid names one server, but --count is 2" in result.err
    assert len(cluster.conductor.builds) == 1


def test_boot_that_is_sent_again_tells_when_it_was_first_sent(cluster, gantt):
    cluster.conductor.lost_answers = 2
    assert gantt("boot", "--flavor", "m1.tiny").code == 0
    first_sent = cluster.conductor.first_sent
    assert len(first_sent) == 3 and len(set(first_sent)) == 1 and first_sent[0] is not None
