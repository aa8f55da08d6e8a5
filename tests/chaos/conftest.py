# SPDX-License-Identifier: Apache-2.0
"""A cluster with short time-outs for the interleaving tests; each test restarts what it broke."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from tests.chaos.rigged import rig
from tests.functional import clusters, truth
from tests.functional.clusters import RunningCluster

# Short time-outs, so that recovery takes seconds rather than minutes.
IMPATIENT = {
    "scheduler": {
        "scheduler": {"claim_ttl": 4},
        "store": {"audit_grace": 2, "collect_timeout": 5, "reap_interval": 0.5, "service_down_time": 600},
    },
    "conductor": {
        "DEFAULT": {"worker_hang_timeout": 600},
        "rpc": {"call_timeout": 3, "call_monitor_timeout": 3},
        "conductor": {"build_timeout": 5, "recast_interval": 1, "lease": 3, "pump_interval": 0.2},
    },
    "compute": {
        "DEFAULT": {"worker_hang_timeout": 600},
        "compute": {"call_timeout": 2, "retry_interval_max": 0.5, "report_interval": 0.5},
    },
}

LOG_TAIL = 6000

Rigged = Callable[..., Path]


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    """Two hosts of three nodes, two scheduler workers, a conductor, on the embedded bus."""
    with clusters.running_cluster(ClusterSize(computes=2, nodes_per_host=3), IMPATIENT) as running:
        yield running


@pytest.fixture
def rigged(cluster: RunningCluster, tmp_path: Path) -> Iterator[Rigged]:
    """Restart a daemon with an injected fault in its worker: ``rigged(daemon, targets, when=, nth=, signal_name=)``.

    Returns the file that exists once the fault has occurred. The plain daemon is restarted after the test.
    """
    changed: set[str] = set()
    numbers = itertools.count()

    def restart(daemon: str, targets: str | Sequence[str], **options: object) -> Path:
        changed.add(daemon)
        flag = tmp_path / f"met{next(numbers)}"
        clusters.restart(cluster, daemon, ["-m", "tests.chaos.rigged", daemon], rig(targets, flag, **options))
        exercise.wait_for_nodes(cluster.session, cluster.cluster.size.nodes, 60, lambda node_count: None)
        assert not flag.exists(), f"the fault in {daemon} occurred at its start, before the test began"
        return flag

    yield restart
    for daemon in changed:
        clusters.restart(cluster, daemon)
    truth.until("all nodes open again", lambda: exercise.open_nodes(cluster.session) == cluster.cluster.size.nodes)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add the tails of the daemons' logs to the report of a failed test on a cluster."""
    report = (yield).get_result()
    running = getattr(item, "funcargs", {}).get("cluster")
    # After the teardown of the cluster there is no log any more.
    if report.failed and isinstance(running, RunningCluster) and running.folder.exists():
        for name in running.cluster.daemons:
            log = running.cluster.layout.log_file(name)
            report.sections.append((f"log of {name}", log.read_text(errors="replace")[-LOG_TAIL:]))
