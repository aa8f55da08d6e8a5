# SPDX-License-Identifier: Apache-2.0
"""lab.sh moves: drain of a host, and evacuation of lost hosts."""

import argparse
from collections.abc import Iterator

from compute_agent.simulator.copy import SimulatedCopy
from devstack.lab.benchmark import host_count, option
from devstack.lab.boot import faults_row
from devstack.lab.moves.scenario import (
    COPY_RATE,
    DIRTY_RATE,
    DOWNTIME_SECONDS,
    LOST,
    MovedHosts,
    MovesRun,
    PhaseTimes,
    overrides,
)
from devstack.lab.private_cluster import SCHEDULERS, ClusterBenchmark, booted, wait_for_nodes
from devstack.lab.rows import ResultRow
from devstack.servers.ports import free_port
from rpcapi.admin.host_moves import PARALLEL
from rpcapi.cli import host_moves


class MovesBenchmark(ClusterBenchmark):
    """Time the drain of a host by live migrations, and the evacuation of hosts that were killed and fenced.

    Runs a private cluster of real processes whose guests start without delay. Baselines are the simulator's copy of a
    server for a live migration, all copies for the drain, and boots of the same servers for the evacuation. No time
    budget; servers, guests, claims and sums must agree.
    """

    ARGUMENTS = (
        option("--servers", "Servers of each host that is left", default=50),
        option("--hosts", "Hosts that are lost, and as many others, which take all servers", host_count, 10),
        option("--memory", "Memory of a server, to copy", default=2048, metavar="MB"),
        option("--parallel", "Servers that the drain moves at a time", host_moves.parse_parallel, PARALLEL),
        option("--per-request", "Servers of a boot request, which one thread of the conductor serves", default=5),
        SCHEDULERS,
    )

    def measure_cluster(self, bus: str, args: argparse.Namespace) -> Iterator[ResultRow]:
        hosts, metrics_port = MovedHosts(args.hosts), free_port()
        size = self.size(bus, args, len(hosts.names), 1)
        with booted(size, overrides(hosts, metrics_port), 1 + hosts.count) as (private_cluster, session):
            run = MovesRun(session, hosts, args, metrics_port)
            run.boot([hosts.drained])
            yield from drain_rows(bus, args, run.drain())
            # Start these hosts only now, so that no server of the drained host moves to a host that is lost.
            private_cluster.start_agent(LOST, hosts.lost_hosts)
            wait_for_nodes(session, len(hosts.names))
            boots = run.boot(hosts.lost_hosts)
            private_cluster.daemons[LOST].kill_group()
            for host in hosts.lost_hosts:
                run.operator.fence(host)
            yield from evacuation_rows(bus, args, boots, run.evacuate())
            # The agent returns with all its guests and must remove them.
            private_cluster.start_agent(LOST, hosts.lost_hosts)
            wait_for_nodes(session, len(hosts.names))
            state = private_cluster.layout.state
            result, faults = run.verify([state / "compute", state / LOST])
        counts = {"servers": len(result.instances), "claims": len(result.claims)}
        yield faults_row(f"moves amiss, {bus}", faults, **counts)


def copy_seconds(memory_mb: int) -> float:
    """Return the seconds of the simulator's copy of a server, the least time of a live migration."""
    floor = SimulatedCopy(
        memory_mb=memory_mb,
        disk_mb=0,
        copy_rate=COPY_RATE,
        dirty_rate=DIRTY_RATE,
        downtime_ms=round(1000 * DOWNTIME_SECONDS),
        started_ms=0,
    ).wait_ms(0)
    assert floor is not None  # noqa: S101 - guests write slower than they are copied
    return floor / 1000


def drain_rows(bus: str, args: argparse.Namespace, drain: PhaseTimes) -> Iterator[ResultRow]:
    copy_s = copy_seconds(args.memory)
    copies_s = -(-args.servers // args.parallel) * copy_s  # least time of a drain: rounds of parallel copies
    yield ResultRow(
        f"a live migration beside its copy, {bus}",
        drain.percentile(50) / copy_s,
        figures={**drain.percentiles(), "copy_s": copy_s},
    )
    figures = {"servers": args.servers, "parallel": args.parallel, "seconds": drain.elapsed, "copies_s": copies_s}
    yield ResultRow(f"drain of a host beside its copies, {bus}", drain.elapsed / copies_s, figures=figures)
    yield _work_row(f"decisions per live migration, {bus}", drain)


def evacuation_rows(
    bus: str, args: argparse.Namespace, boots: PhaseTimes, evacuation: PhaseTimes
) -> Iterator[ResultRow]:
    yield ResultRow(
        f"an evacuation beside a boot, {bus}",
        evacuation.percentile(50) / boots.percentile(50),
        figures={**evacuation.percentiles(), **boots.percentiles("boot_")},
    )
    figures = {"servers": args.servers * args.hosts, "hosts": args.hosts, "seconds": evacuation.elapsed}
    yield ResultRow(
        f"evacuation of all lost hosts beside the boots, {bus}",
        evacuation.elapsed / boots.elapsed,
        figures={**figures, "servers_per_s": evacuation.calls / evacuation.elapsed, "boots_s": boots.elapsed},
    )
    yield _work_row(f"decisions per evacuation, {bus}", evacuation)


def _work_row(name: str, phase: PhaseTimes) -> ResultRow:
    figures = {f"{kind}_per_s": count / phase.elapsed for kind, count in phase.work.items()}
    return ResultRow(name, phase.work["decisions"] / max(1, phase.calls), figures=figures)
