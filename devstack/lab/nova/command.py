# SPDX-License-Identifier: Apache-2.0
"""lab.sh nova: gantt in the place of nova-scheduler and Placement, beside both of them."""

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from devstack.lab.benchmark import Benchmark, host_count, list_of, names_of, positive
from devstack.lab.nova import burst_cloud, bursts, paired_cloud, placement_race, selects
from devstack.lab.peers.side import PeerFailed
from devstack.lab.placement import ours, peer
from devstack.lab.placement.cloud import Cloud
from devstack.lab.rows import ResultRow
from devstack.nova import environment
from devstack.nova.client import CallFailed, CloudPlacementClient
from devstack.nova.environment import NOVA_CLOUD
from devstack.peer_environments import PeerMissing
from devstack.servers.ports import LOOPBACK
from devstack.users.errors import DevstackError
from rpcapi.cli.command import CommandFailed

PARTS = ("select", "race", "bursts")
RACE_WORKERS = 2  # processes of each Placement


class NovaBenchmark(Benchmark):
    """Measure real nova-scheduler and Placement against gantt in their place, in one run on one machine.

    ``select``: select_destinations, called by Nova's own client. Each compute has a provider with Nova's traits, a
    compute node, a service and a host mapping; allocations are deleted after each call. ``race``: clients of both
    Placements claim the same capacity at the same time. ``bursts``: servers from the request to ACTIVE, on clouds of
    four computes without a hypervisor.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--parts", type=names_of(PARTS, "a part"), default=list(PARTS), metavar="NAME,...", help=", ".join(PARTS)
        )
        parser.add_argument(
            "--hosts",
            type=list_of(host_count),
            default="4,100,1000,10000",
            metavar="N,...",
            help="Numbers of hosts for select (%(default)s).",
        )
        parser.add_argument(
            "--calls", type=positive, default=50, metavar="N", help="Of gantt per block, for select (%(default)s)."
        )
        parser.add_argument(
            "--rounds", type=positive, default=placement_race.ROUNDS, metavar="N", help="Of the race (%(default)s)."
        )
        parser.add_argument(
            "--bursts",
            type=list_of(burst_size),
            default="50,200",
            metavar="N,...",
            help="Servers of the large bursts (%(default)s).",
        )
        parser.add_argument(
            "--schedulers",
            type=list_of(positive),
            default="1,4",
            metavar="N,...",
            help="Scheduler processes for the bursts (%(default)s).",
        )
        parser.add_argument(
            "--alone", action="store_true", help="Bursts on gantt only, without nova-scheduler and Placement."
        )
        parser.add_argument("--install", action="store_true", help=f"First install {NOVA_CLOUD.release} from PyPI.")
        return parser

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
            yield from selects.measure(cloud, args.hosts, args.calls, _update(bar))

    def _race(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        python, cloud = environment.folder() / "bin" / "python", Cloud(0)
        with (
            self.bar(2 * args.rounds, "race", args) as bar,
            ours.running(cloud, RACE_WORKERS, "everysec") as gantt,
            peer.running(cloud, RACE_WORKERS, 0, python) as placement,
        ):
            clients = {"gantt": _clients(gantt.port), "Placement": _clients(placement.port)}
            yield from placement_race.measure(clients, args.rounds, _update(bar))

    def _bursts(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        sides = [paired_cloud.OURS] if args.alone else [paired_cloud.THEIRS, paired_cloud.OURS]
        total = len(sides) * len(args.schedulers) * (len(bursts.bursts(args.bursts)) + 1)
        with self.bar(total, "bursts", args) as bar:
            yield from bursts.measure(burst_cloud.running, args.bursts, args.schedulers, _update(bar), sides)


def burst_size(text: str) -> int:
    """Parse a number of servers that fit twice; for argparse."""
    number = positive(text)
    if number > burst_cloud.LARGEST:
        raise argparse.ArgumentTypeError(f"{number} servers are more than the maximum of {burst_cloud.LARGEST}")
    return number


def _clients(port: int) -> placement_race.MakeClient:
    return partial(CloudPlacementClient, f"http://{LOOPBACK}:{port}")


def _update(bar: Any) -> Any:
    return bar.update
