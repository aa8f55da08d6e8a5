# SPDX-License-Identifier: Apache-2.0
"""lab.sh nova: gantt as Nova's scheduler and Placement, compared with the originals."""

import argparse
from collections.abc import Iterator
from functools import partial

from devstack import peer_environments
from devstack.lab.benchmark import INSTALL, Benchmark, flag, host_count, list_of, names_of, option, positive
from devstack.lab.nova import bursts, paired_cloud, placement_race, selects
from devstack.lab.placement import servers
from devstack.lab.placement.cloud import Cloud
from devstack.lab.rows import ResultRow
from devstack.nova.client import CloudPlacementClient
from devstack.servers.ports import LOOPBACK
from rpcapi.admin.argument import parse_number

PARTS = ("select", "race", "bursts")
RACE_WORKERS = 2  # processes of each Placement


burst_size = parse_number(int, 1, bursts.LARGEST)


class NovaBenchmark(Benchmark):
    """Measure gantt against the nova-scheduler and Placement that it replaces, in one run on one machine.

    ``select``: select_destinations, called by Nova's own client; each compute has Nova's traits, a compute node, a
    service and a host mapping. ``race``: clients of both Placements claim the same capacity concurrently. ``bursts``:
    servers from the request to ACTIVE, on clouds of four computes without a hypervisor.
    """

    ARGUMENTS = (
        option("--parts", "Parts", names_of(PARTS, "a part"), ",".join(PARTS), "NAME,..."),
        option("--hosts", "Numbers of hosts for select", list_of(host_count), "4,100,1000,10000", metavar="N,..."),
        option("--calls", "Of gantt per block, for select", default=50),
        option("--rounds", "Of the race", default=placement_race.ROUNDS),
        option("--bursts", "Servers of the large bursts", list_of(burst_size), "50,200", metavar="N,..."),
        option("--schedulers", "Scheduler processes for the bursts", list_of(positive), "1,4", metavar="N,..."),
        flag("--alone", "Bursts on gantt only, without nova-scheduler and Placement."),
        INSTALL,
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        if args.install:
            peer_environments.install()
        peer_environments.python()  # fail before anything is started
        if "select" in args.parts:
            with paired_cloud.running() as cloud:
                yield from selects.measure(cloud, args.hosts, args.calls)
        if "race" in args.parts:
            yield from _race(args.rounds)
        if "bursts" in args.parts:
            sides = [paired_cloud.OURS] if args.alone else [paired_cloud.THEIRS, paired_cloud.OURS]
            yield from bursts.measure(bursts.running, args.bursts, args.schedulers, sides)


def _race(rounds: int) -> Iterator[ResultRow]:
    cloud = Cloud(0)
    with (
        servers.run_gantt(cloud, RACE_WORKERS, "everysec") as gantt,
        servers.run_placement(cloud, RACE_WORKERS, 0) as placement,
    ):
        clients = {"gantt": _clients(gantt.port), "Placement": _clients(placement.port)}
        yield from placement_race.measure(clients, rounds)


def _clients(port: int) -> placement_race.MakeClient:
    return partial(CloudPlacementClient, f"http://{LOOPBACK}:{port}")
