# SPDX-License-Identifier: Apache-2.0
"""A cluster with short time-outs for the interleaving tests; each test restarts what it broke."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from devstack import exercise
from devstack.cluster_size import ClusterSize
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.clusters.impatient import IMPATIENT
from tests.support.clusters.rigged import rig

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
        command = ["-m", "tests.support.clusters.rigged", daemon]
        clusters.restart(cluster, daemon, command, rig(targets, flag, **options))
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
