# SPDX-License-Identifier: Apache-2.0
"""gantt-lab trees: what does a request for several devices of a host cost, where its provider tree is wide?"""

import argparse
import itertools
import uuid as uuid_module
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from devstack.lab import driver, hosts
from devstack.lab.command import Question, positive
from devstack.lab.peers import environments, side
from devstack.lab.peers.environments import PLACEMENT, PeerMissing
from devstack.lab.peers.side import PeerFailed, Side
from devstack.lab.rows import Row
from devstack.lab.timing import Times, interleave
from rpcapi.model.groups import ISOLATE, NONE, RequestGroup
from rpcapi.model.inventory import Inventory
from scheduler_svc.candidates import ranking
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.request import Request
from scheduler_svc.table.table import HostTable

GPU = "PGPU"
LOTS = 10
LOT_SIZE = 5
LIMIT = 1000  # [scheduler] max_placement_results: what Nova asks Placement for
LEFT_OUT = "Placement: HTTP, Keystone, a database server (SQLite file, in process), asked once. Ours: RPC, claiming."

Asked = tuple[int, str]  # how many groups, and with which policy


class Trees(Question):
    """Time a decision for a server with several single-device groups on hosts with many devices.

    Beside one for a server without devices on the same hosts; and beside Placement's candidates, where `gantt-lab peers
    --install` has put it, up to --most groups: what it takes grows with the number of ways to serve the request.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=positive, default=10, metavar="N", help="Hosts (%(default)s).")
        parser.add_argument("--devices", type=positive, default=8, metavar="N", help="Of each host (%(default)s).")
        parser.add_argument(
            "--groups", type=_counts, default="1,5,8", metavar="N,...", help="Groups of one device (%(default)s)."
        )
        parser.add_argument(
            "--most", type=int, default=5, metavar="N", help="Groups that Placement is asked for at most (%(default)s)."
        )
        parser.add_argument(
            "--cache",
            type=Path,
            default=environments.default_cache(),
            metavar="FOLDER",
            help="Where Placement's environment is kept (%(default)s).",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        asked = list(itertools.product(args.groups, (NONE, ISOLATE)))
        table, ranker = wide(args.hosts, args.devices), driver.default()
        found: list[Row] = []
        ours: dict[Asked, float] = {}
        with self.bar((LOTS + 1) * len(asked), "deciding", args) as bar:
            for each in asked:
                plain, mine = deciding(ranker, table, request(0, NONE)), deciding(ranker, table, request(*each))
                taken = interleave({"plain": plain, "ours": mine}, lots=LOTS, size=LOT_SIZE, tick=bar.update)
                ours[each] = taken["ours"].p50_us
                found.append(_row(args, each, taken, mine(1)))
        return [*found, *self._beside_placement(args, {each: it for each, it in ours.items() if each[0] <= args.most})]

    def _beside_placement(self, args: argparse.Namespace, ours: Mapping[Asked, float]) -> Iterator[Row]:
        try:
            python = environments.python(PLACEMENT, args.cache)
            with side.running([str(python), "-s", str(side.INSIDE / "placement_trees_side.py")]) as peer:
                peer.ask("load", providers=told(args.hosts, args.devices))
                for each, mine_us in ours.items():
                    candidates, seconds = _ask(peer, *each)
                    figures: dict[str, float | int | str] = {
                        "theirs_ms": 1000 * seconds,
                        "ours_p50_ms": mine_us / 1000,
                        "theirs_candidates": candidates,
                        "left_out": LEFT_OUT,
                    }
                    name = f"{_name(args, each)}: {PLACEMENT.release} / ours"
                    yield Row(name, 1e6 * seconds / mine_us, None, figures=figures)
        except (PeerMissing, PeerFailed) as why:
            self.app.stderr.write(f"{why}\n")


def _counts(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def _name(args: argparse.Namespace, asked: Asked) -> str:
    return f"trees: {asked[0]} of {args.devices} devices, {args.hosts} hosts, policy {asked[1]}"


def _row(args: argparse.Namespace, asked: Asked, taken: Mapping[str, Times], served: int) -> Row:
    mine, floor = taken["ours"], taken["plain"]
    figures = {
        "p50_us": mine.p50_us,
        "p99_us": mine.p99_us,
        "without_p50_us": floor.p50_us,
        "hosts_found": served,
    }
    return Row(f"{_name(args, asked)}, p50", mine.p50_us / floor.p50_us, None, figures=figures)


def request(groups: int, policy: str) -> Request:
    """Return a request for so many devices, each in a group of its own."""
    wanted = tuple(RequestGroup(f"_{number}", {GPU: 1}) for number in range(groups))
    return Request("trees", {"VCPU": 1, "MEMORY_MB": 512}, groups=wanted, groups_policy=policy)


def deciding(ranker: Driver, table: HostTable, asked: Request) -> Callable[[int], int]:
    """Return what is measured: one decision, and for how many hosts an allocation was found."""

    def decide(number: int) -> int:
        with table.reading() as view:
            found = ranking.rank(ranker, view, asked, 1, number)
        return len(found.candidates[0]) if found.candidates else 0

    return decide


def wide(count: int, devices: int) -> HostTable:
    """Return a table of hosts with ``devices`` devices each, of one unit."""
    nodes: dict[str, dict[str, Any]] = {}
    for name, told_of in hosts.make(count).items():
        nodes[name] = told_of
        for number in range(devices):
            child = {"root": name, "parent": name, "inventories": {GPU: Inventory(1).as_dict()}, "traits": []}
            nodes[f"{name}/gpu{number}"] = child
    return HostTable.from_snapshot(hosts.snapshot(nodes, {}), reads=driver.default().reads)


def told(count: int, devices: int) -> list[dict[str, Any]]:
    """Return the same hosts as Placement has them."""
    found = []
    for name, told_of in hosts.make(count).items():
        root = _uuid(name)
        found.append(_provider(root, root, None, told_of["inventories"]))
        one = {GPU: Inventory(1).as_dict()}
        found += [_provider(_uuid(f"{name}/gpu{number}"), root, root, one) for number in range(devices)]
    return found


def _provider(uuid: str, root: str, parent: str | None, inventories: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    kept = {name: {key: held for key, held in told.items() if key != "capacity"} for name, told in inventories.items()}
    identity = {"uuid": uuid, "root": root, "parent": parent}
    return {**identity, "inventories": kept, "used": {}, "traits": [], "aggregates": []}


def _uuid(name: str) -> str:
    return str(uuid_module.uuid5(uuid_module.NAMESPACE_DNS, name))


def _ask(peer: Side, groups: int, policy: str) -> tuple[int, float]:
    query = [("limit", str(LIMIT)), ("resources", "VCPU:1,MEMORY_MB:512"), ("group_policy", policy)]
    query += [(f"resources_{number}", f"{GPU}:1") for number in range(groups)]
    ((answer, seconds),) = peer.ask("ask", queries=[query])
    if isinstance(answer, str):
        raise PeerFailed(answer)
    return len(answer), float(seconds)
