# SPDX-License-Identifier: Apache-2.0
"""The upgrade checks of ``gantt-status``."""

import json

import pytest

from rpcapi.bounds import CollectionSize
from rpcapi.cli import status
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.clients.scheduler import BusBackend
from rpcapi.messaging import bus
from rpcapi.messaging.drivers.dead_letters import DeadLetter


@pytest.fixture
def check(cluster, config_file, capsys):
    """Return a function that runs the checks on a healthy cluster: exit code and {check: (result, details)}."""
    cluster.scheduler.service("host1")
    cluster.claims.claim("a")

    def run():
        capsys.readouterr()
        code = status.main(["--config-file", str(config_file), "upgrade", "check", "--json"])
        report = json.loads(capsys.readouterr().out)
        return code, {row["check"]: (row["result"], row["details"]) for row in report["checks"]}

    return run


def test_healthy_cluster_passes(check):
    code, checks = check()
    assert (code, {result for result, _details in checks.values()}) == (0, {0})
    assert checks["Conductor"][1] == f"answers at version {ConductorAPI.VERSION}"
    assert checks["Partition"][1] == "partition default, epoch 7: 1 claims, all sums match"


def test_down_or_unaudited_services_are_a_warning(check, cluster):
    for number in range(7):
        cluster.scheduler.service(f"down{number}", alive=False)
    cluster.scheduler.service("new", audited=False)
    code, checks = check()
    assert (code, checks["Services"][0]) == (1, 1)
    assert "down0, down1, down2, down3, down4 and 2 more" in checks["Services"][1]
    assert "not audited in this epoch: new" in checks["Services"][1]


def test_cluster_without_agents_is_a_warning(check, cluster):
    cluster.scheduler.state["service"].clear()
    assert check()[1]["Services"] == (1, "no agent has reported yet")


def test_each_living_service_of_an_older_release_is_a_failure(check, cluster):
    cluster.scheduler.service("gantt-conductor@m1", binary="gantt-conductor")
    cluster.scheduler.service("gantt-conductor@m2", binary="gantt-conductor", rpc_versions={"conductor": "1.10"})
    for number in range(2):
        cluster.scheduler.service(f"old{number}", rpc_versions=None)
    cluster.scheduler.service("dead", alive=False, rpc_versions={"compute": "1.0"})
    code, checks = check()
    assert (code, checks["RPC versions"][0]) == (2, 2)
    details = checks["RPC versions"][1]
    assert details.startswith("1 of 5 report conductor 1.10: gantt-conductor@m2; 2 of 5 report no version: old0, old1.")
    assert f"This release serves conductor {ConductorAPI.VERSION}, claims" in details


def test_other_binaries_have_no_versions_to_compare(check, cluster):
    cluster.scheduler.service("gantt-other@m1", binary="gantt-other", rpc_versions=None)
    assert check()[1]["RPC versions"] == (0, "1 services report the versions of this release")


def test_excess_is_a_warning_and_a_wrong_sum_a_failure(check, cluster):
    cluster.claims.excess = [{"provider": "host1"}]
    assert check()[0] == 1
    cluster.claims.problems = ["used of host1 is 3, its claims sum to 2"]
    code, checks = check()
    assert (code, checks["Partition"][0]) == (2, 2)
    assert "its claims sum to 2" in checks["Partition"][1]


def test_service_of_an_older_version_is_a_failure(check, monkeypatch):
    monkeypatch.setattr(BusBackend, "VERSION", "1.99")
    code, checks = check()
    assert (code, checks["Scheduler"][0]) == (2, 2)
    assert checks["Scheduler"][1].startswith("RPC version 1.99 is not supported: upgrade the service")


def test_all_partitions_are_checked(check, cluster):
    cluster.add_partition()
    cluster.claims2.problems = ["used of host2 is 3, its claims sum to 2"]
    code, checks = check()
    assert (code, checks["Partition"][0]) == (2, 2)
    assert checks["Partition"][1].startswith("partition default, epoch 7: 1 claims, all sums match; partition second")


def test_store_without_enough_replicas_is_a_failure(check, cluster):
    cluster.conductor.replicas_missing = cluster.claims.replicas_missing = True
    code, checks = check()
    assert (code, checks["Conductor"][0], checks["Partition"][0]) == (2, 2, 2)
    figures = "0 of 1 replicas had the write after 1000 ms"
    assert checks["Conductor"][1].startswith(f"The conductors' store: {figures}")
    assert checks["Partition"][1].startswith(f"The store of partition 'default': {figures}")


def test_unanswered_check_fails_alone(check, cluster, config_file):
    cluster.scheduler.partitions = ["nobody"]
    config_file.write_text(
        "[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\ncall_timeout = 0.2\npartition = nobody\n"
    )
    code, checks = check()
    assert code == 2
    assert checks["Claims"][0] == checks["Partition"][0] == 2
    assert checks["Claims"][1].startswith("No reply in time")
    assert checks["Conductor"][0] == checks["Services"][0] == 0


def test_invalid_flavor_is_a_failure(check, config_file):
    with config_file.open("a") as file:
        file.write("[flavor:odd]\nvcpus = 1\n")
    code, checks = check()
    assert (code, checks["Configuration"]) == (2, (2, "Bad configuration: [flavor:odd] lacks memory_mb"))


@pytest.mark.parametrize(
    ("size", "code", "text"),
    [
        (CollectionSize(9, 79 << 20, 100 << 20), 0, "79 MiB of 100 MiB"),
        (CollectionSize(9, 80 << 20, 100 << 20), 1, "80 MiB of 100 MiB: nearly full"),
        (CollectionSize(9, 5 << 30, 4 << 30), 2, "5 GiB of 4 GiB: new work is refused"),
        (CollectionSize(9, 120 << 10, 100 << 10, rotates=True), 0, "120 KiB of 100 KiB"),
        (CollectionSize(9, 990), 0, "990 B"),
    ],
)
def test_collection_near_or_at_its_bound_is_shown(check, cluster, size, code, text):
    cluster.claims.sizes["claims"] = size
    assert check()[0] == code
    details = f"partition default: 9 claims ({text}); conductor: 3 records (3 MiB of 100 MiB)"
    assert check()[1]["Stores"] == (code, details)


def test_dead_letters_are_a_warning(check, monkeypatch):
    assert check()[1]["Dead letters"] == (0, "this bus keeps none")
    letter = DeadLetter("gantt_bus:topic:x:conductor", "MessageForeign: it has no id", 7, "{}", 1)
    monkeypatch.setattr(bus, "dead_letters", lambda transport: [letter, letter])
    code, checks = check()
    details = "2; the newest was sent to gantt_bus:topic:x:conductor: MessageForeign: it has no id"
    assert (code, checks["Dead letters"]) == (1, (1, details))


def test_epoch_after_the_acknowledged_one_is_a_warning_for_the_placement_api(check, cluster):
    assert check()[1]["Placement API"] == (0, "not used")
    cluster.scheduler.state["placement"]["default"] = {"acknowledged_epoch": 7}
    assert check()[1]["Placement API"] == (0, "nothing was lost in default")
    cluster.scheduler.state["placement"]["default"] = {"acknowledged_epoch": 6}
    code, checks = check()
    assert (code, checks["Placement API"][0]) == (1, 1)
    assert checks["Placement API"][1].startswith("partition default began epoch 7: ")
    assert checks["Placement API"][1].endswith("gantt partition acknowledge default 7")
