# SPDX-License-Identifier: Apache-2.0
"""Roles of a whole cluster on the embedded bus: what each daemon's credentials and the operator's may do."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.cluster_size import ClusterSize
from devstack.deploy.users.folder import write_private
from rpcapi import errors
from rpcapi.admin.session import Session
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot_host
from tests.support.clusters.clusters import RunningCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(ClusterSize(computes=2, nodes_per_host=1, schedulers=1)) as running:
        yield running


def session_of(cluster: RunningCluster, user: str) -> Session:
    """Return a session with the credentials of a user of the bus."""
    bus = cluster.cluster.bus
    assert bus is not None
    text = cluster.cluster.client_conf.read_text().replace(bus.bus_url("operator"), bus.bus_url(user))
    conf = cluster.cluster.layout.etc / f"as-{user}.conf"
    write_private(conf, text)
    return Session([str(conf)])


def test_all_checks_of_the_operators_command_are_answered(cluster: RunningCluster) -> None:
    command = [str(Path(sys.executable).with_name("gantt-status")), "--config-file", str(cluster.cluster.client_conf)]
    done = subprocess.run([*command, "upgrade", "check"], capture_output=True, text=True, timeout=60, check=False)
    assert "Failure" not in done.stdout, done.stdout
    assert "Dead letters" in done.stdout
    assert done.returncode < 2, done.stderr


def test_each_process_has_the_credentials_of_its_role(cluster: RunningCluster) -> None:
    confs = {name: cluster.cluster.layout.conf(name).read_text() for name in ("scheduler", "conductor", "compute")}
    bus = cluster.cluster.bus
    assert bus is not None
    for name, text in confs.items():
        assert bus.bus_url(name) in text
        others = {"scheduler", "conductor", "compute", "operator", "client", "admin"} - {name}
        assert not [user for user in others if bus.passwords.of(user) in text]


def states_of_claims(cluster: RunningCluster) -> dict[str, str]:
    claims = cluster.session.list_all(cluster.session.claims.list_claims, "claims")
    return {claim["consumer"]: claim["state"] for claim in claims}


@pytest.mark.parametrize(
    ("user", "error"),
    [
        ("compute", errors.CallerRefused),
        ("conductor", errors.CallerRefused),
        ("client", errors.Unavailable),  # Redis refuses: a client does not reach the claims services
        ("scheduler", errors.Unavailable),
    ],
)
def test_only_an_operator_fences(cluster: RunningCluster, user: str, error: type[Exception]) -> None:
    host = boot_host(cluster)
    before = states_of_claims(cluster)
    session = session_of(cluster, user)
    try:
        with pytest.raises(error):
            session.claims.fence_host(session.ctxt.with_timeout(20), host, "token", force=True)
    finally:
        session.close()
    after = states_of_claims(cluster)
    assert after == before
    assert "confirmed" in after.values()
