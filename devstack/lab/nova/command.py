# SPDX-License-Identifier: Apache-2.0
"""lab.sh nova: gantt in the place of nova-scheduler and Placement, beside both of them."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial

from devstack.deploy.users.errors import DevstackError
from devstack.lab.benchmark import Benchmark, count_up_to, flag, host_count, list_of, names_of, option, positive
from devstack.lab.nova import burst_cloud, bursts, paired_cloud, placement_race, selects
from devstack.lab.peers.side import PeerFailed
from devstack.lab.placement import servers
from devstack.lab.placement.cloud import Cloud
from devstack.lab.rows import ResultRow
from devstack.nova import environment
from devstack.nova.client import CallFailed, CloudPlacementClient
from devstack.nova.environment import NOVA_CLOUD
from devstack.peer_environments import PeerMissing
from devstack.servers.ports import LOOPBACK
from rpcapi.cli.command import CommandFailed

PARTS = ("select", "race", "bursts")
RACE_WORKERS = 2  # processes of each Placement


burst_size = count_up_to(burst_cloud.LARGEST, "servers")


class NovaBenchmark(Benchmark):
    """Measure real nova-scheduler and Placement against gantt in their place, in one run on one machine.

    ``select``: select_destinations, called by Nova's own client. Each compute has a provider with Nova's traits, a
    compute node, a service and a host mapping; allocations are deleted after each call. ``race``: clients of both
    Placements claim the same capacity at the same time. ``bursts``: servers from the request to ACTIVE, on clouds of
    four computes without a hypervisor.
    """

    ARGUMENTS = (
        option("--parts", "Parts", names_of(PARTS, "a part"), ",".join(PARTS), "NAME,..."),
        option("--hosts", "Numbers of hosts for select", list_of(host_count), "4,100,1000,10000", metavar="N,..."),
        option("--calls", "Of gantt per block, for select", default=50),
        option("--rounds", "Of the race", default=placement_race.ROUNDS),
        option("--bursts", "Servers of the large bursts", list_of(burst_size), "50,200", metavar="N,..."),
        option("--schedulers", "Scheduler processes for the bursts", list_of(positive), "1,4", metavar="N,..."),
        flag("--alone", "Bursts on gantt only, without nova-scheduler and Placement."),
        flag("--install", f"First install {NOVA_CLOUD.release} from PyPI."),
    )

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        try:
            if args.install:
                environment.install()
            environment.folder()  # before anything is started
            return list(self._measure(args))
        except (PeerMissing, PeerFailed, DevstackError, CallFailed) as error:
            raise CommandFailed(str(error)) from error

    def _measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        if "select" in args.parts:
            yield from self._select(args)
        if "race" in args.parts:
            yield from self._race(args)
        if "bursts" in args.parts:
            yield from self._bursts(args)

    def _select(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        total = sum(len(selects.limits(size)) for size in args.hosts) * (selects.BLOCKS + 1)
        with self.bar(total, "select", args) as bar, paired_cloud.running() as cloud:
            yield from selects.measure(cloud, args.hosts, args.calls, bar.update)

    def _race(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        python, cloud = environment.folder() / "bin" / "python", Cloud(0)
        with (
            self.bar(2 * args.rounds, "race", args) as bar,
            servers.run_gantt(cloud, RACE_WORKERS, "everysec") as gantt,
            servers.run_placement(cloud, RACE_WORKERS, 0, python) as placement,
        ):
            clients = {"gantt": _clients(gantt.port), "Placement": _clients(placement.port)}
            yield from placement_race.measure(clients, args.rounds, bar.update)

    def _bursts(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        sides = [paired_cloud.OURS] if args.alone else [paired_cloud.THEIRS, paired_cloud.OURS]
        total = len(sides) * len(args.schedulers) * (len(bursts.bursts(args.bursts)) + 1)
        with self.bar(total, "bursts", args) as bar:
            yield from bursts.measure(burst_cloud.running, args.bursts, args.schedulers, bar.update, sides)


def _clients(port: int) -> placement_race.MakeClient:
    return partial(CloudPlacementClient, f"http://{LOOPBACK}:{port}")
