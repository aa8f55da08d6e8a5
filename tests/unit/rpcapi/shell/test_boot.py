# SPDX-License-Identifier: Apache-2.0
"""``gantt boot``: the request that is sent, the answer that is printed, and the exit code."""

import pytest


def test_a_boot_prints_the_servers_and_the_request_that_explain_takes(cluster, gantt):
    done = gantt("boot", "--flavor", "m1.small", "--count", "3", "-f", "json")
    (spec, uuids) = cluster.conductor.asked[0]
    assert (done.code, [row["uuid"] for row in done.json]) == (0, uuids)
    assert len(set(uuids)) == 3
    assert spec.resources == {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}
    assert {row["request_id"] for row in done.json} == {cluster.conductor.contexts[0].request_id}
    assert f"Request {cluster.conductor.contexts[0].request_id}" in done.err


def test_what_the_options_say_of_the_place_is_in_the_spec(cluster, gantt):
    options = "--az az1 --trait CUSTOM_A --trait !CUSTOM_B --hint a=1 --hint a=2 --hint b=x=y --host h1 --not-host h2/n"
    group = "--group g --group-policy anti-affinity --group-max-per-host 2"
    assert gantt("boot", "--flavor", "m1.tiny", *options.split(), *group.split()).code == 0
    spec, _uuids = cluster.conductor.asked[0]
    assert (spec.flavor, spec.availability_zone) == ("m1.tiny", "az1")
    assert (spec.required_traits, spec.forbidden_traits) == (["CUSTOM_A"], ["CUSTOM_B"])
    assert spec.hints == {"a": ["1", "2"], "b": "x=y"}
    assert (spec.force_hosts, spec.ignore_hosts) == (["h1"], ["h2/n"])
    assert (spec.group_id, spec.group_policy, spec.group_max_per_host) == ("g", "anti-affinity", 2)


def test_wait_returns_when_all_are_active(cluster, gantt):
    done = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json")
    assert done.code == 0
    assert [(row["status"], row["host"]) for row in done.json] == [("ACTIVE", "host1/node1")] * 2


def test_wait_fails_when_one_ends_in_error_and_says_where_to_look(cluster, gantt):
    cluster.conductor.ends = iter(["ACTIVE", "ERROR"])
    done = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json")
    assert done.code == 1
    assert [(row["status"], row["reason"]) for row in done.json] == [
        ("ACTIVE", None),
        ("ERROR", "no valid host: 3 VCPU"),
    ]
    assert "1 of 2 are ACTIVE; `gantt explain req-" in done.err


def test_wait_gives_up_at_its_timeout_and_prints_what_stands(cluster, gantt):
    cluster.conductor.stuck = True
    done = gantt("boot", "--flavor", "m1.tiny", "--wait", "--timeout", "0.2", "-f", "json")
    assert (done.code, done.json[0]["status"]) == (1, "SCHEDULING")


@pytest.mark.parametrize(("options", "shown"), [(["--progress"], True), ([], False)])
def test_the_bar_is_shown_to_who_watches_or_asks(cluster, gantt, options, shown):
    done = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json", *options)
    assert ("2/2" in done.err) is shown


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--flavor", "m1.none"], "There is no flavor 'm1.none'; known: m1.large"),
        (["--flavor", "m1.tiny", "--count", "0"], "1 to 1000 instances, not 0"),
        (["--flavor", "m1.tiny", "--count", "100000"], "1 to 1000 instances, not 100000"),
        (["--flavor", "m1.tiny", "--trait", "HW_NONE"], "There is no trait 'HW_NONE'"),
        (["--flavor", "m1.tiny", "--trait", "CUSTOM_A", "--trait", "!CUSTOM_A"], "requires and forbids CUSTOM_A"),
        (["--flavor", "m1.tiny", "--hint", "novalue"], "--hint takes KEY=VALUE"),
        (["--flavor", "m1.tiny", "--host", "a b"], "'a b' is not a resource name"),
    ],
)
def test_a_bad_request_is_one_line_and_never_sent(cluster, gantt, options, sentence):
    done = gantt("boot", *options)
    assert (done.code, done.out) == (1, "")
    assert sentence in done.err
    assert done.err.count("\n") == 1
    assert cluster.conductor.asked == []
