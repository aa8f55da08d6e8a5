# SPDX-License-Identifier: Apache-2.0
"""Benchmark ``lab.sh trees``: requests for several devices of a host with a wide provider tree."""

import argparse
import itertools
import time
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

import numpy as np

from devstack.lab import default_driver, hosts
from devstack.lab.benchmark import Benchmark, list_of, option, positive
from devstack.lab.decide import ranking_subject
from devstack.lab.peers import side
from devstack.lab.peers.side import PeerFailed, PeerProcess
from devstack.lab.placement.cloud import make_provider
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedSubject, Times, interleave, without_collection
from devstack.peer_environments import PLACEMENT, PeerMissing
from rpcapi.resources.groups import ISOLATE, NONE, RequestGroup
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.search import MAX_STEPS, NoCandidateReason, StepBudget, find_first
from rpcapi.resources.trees.tree import Provider, ProviderInventory, ProviderTree, TreeRequest
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable

GPU = "PGPU"
BLOCKS = 10
BLOCK_SIZE = 5
HARD_SEARCHES = 100
HARD_PROVIDERS, HARD_GROUPS = 5, 15
SEARCH_AIM_MS = 50.0
LIMIT = 1000  # Nova's default of [scheduler] max_placement_results
NOT_MEASURED = (
    "Placement: HTTP, Keystone, a database server (SQLite file, in process), called once. Ours: RPC, claiming."
)

GroupCase = tuple[int, str]  # (number of groups, group policy)


class TreesBenchmark(Benchmark):
    """Time a decision for a server with several single-device groups on hosts with many devices.

    Compares it with the same hosts without devices, and with Placement's candidates (see `./devstack/lab.sh peers`) for
    up to --most groups. The last row is the processor time of a search that uses up the step budget of one host.
    """

    ARGUMENTS = (
        option("--hosts", "Hosts", default=10),
        option("--devices", "Devices per host", default=8),
        option("--groups", "Groups of one device", list_of(positive), "1,5,8", metavar="N,..."),
        option("--most", "Maximum number of groups for Placement", int, 5),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        cases = list(itertools.product(args.groups, (NONE, ISOLATE)))
        table, ranker = make_table(args.hosts, args.devices), default_driver.default()
        plain = ranking_subject(ranker, table, [request(0, NONE)])
        ours: dict[GroupCase, float] = {}
        for case in cases:
            subject = ranking_subject(ranker, table, [request(*case)])
            times = interleave({"plain": plain, "ours": subject}, blocks=BLOCKS, size=BLOCK_SIZE)
            ours[case] = times["ours"].p50_us
            yield _row(args, case, times, found_hosts(subject))
        yield _budget_row()
        measurable = {case: p50_us for case, p50_us in ours.items() if case[0] <= args.most}
        yield from self._compare_with_placement(args, measurable)

    def _compare_with_placement(self, args: argparse.Namespace, ours: Mapping[GroupCase, float]) -> Iterator[ResultRow]:
        try:
            with side.running(side.program("placement_side.py")) as peer:
                peer.ask("load", providers=placement_providers(args.hosts, args.devices))
                for case, our_us in ours.items():
                    candidates, seconds = _ask(peer, *case)
                    figures: dict[str, float | int | str] = {
                        "theirs_ms": 1000 * seconds,
                        "ours_p50_ms": our_us / 1000,
                        "theirs_candidates": candidates,
                        "left_out": NOT_MEASURED,
                    }
                    name = f"{_name(args, case)}: {PLACEMENT} / ours"
                    yield ResultRow(name, 1e6 * seconds / our_us, None, figures=figures)
        except (PeerMissing, PeerFailed) as why:
            self.say(str(why))


def _name(args: argparse.Namespace, case: GroupCase) -> str:
    return f"trees: {case[0]} of {args.devices} devices, {args.hosts} hosts, policy {case[1]}"


def _row(args: argparse.Namespace, case: GroupCase, times: Mapping[str, Times], hosts_found: int) -> ResultRow:
    ours, plain = times["ours"], times["plain"]
    figures = {**ours.microseconds(), "without_p50_us": plain.p50_us, "hosts_found": hosts_found}
    return ResultRow(f"{_name(args, case)}, p50", ours.p50_us / plain.p50_us, None, figures=figures)


def _budget_row() -> ResultRow:
    seconds = []
    undecided = 0
    with without_collection():
        for seed in range(HARD_SEARCHES):
            tree, tree_request = hard_search(seed)
            began = time.thread_time()
            undecided += find_first(tree, tree_request, StepBudget()) is NoCandidateReason.UNDECIDED
            seconds.append(time.thread_time() - began)
    times = Times(np.array(seconds))
    figures = {**times.milliseconds(), "steps": MAX_STEPS, "undecided": undecided}
    return ResultRow(
        f"trees: processor time of one host's search to the end of its budget, p99 / {SEARCH_AIM_MS:g} ms",
        times.p99_us / 1e3 / SEARCH_AIM_MS,
        1.0,
        figures=figures,
    )


def hard_search(seed: int) -> tuple[ProviderTree, TreeRequest]:
    """Return a request that fits by totals only: even amounts leave a unit of each odd capacity unused."""
    random = Random(seed)
    amounts = [2 * random.randint(20, 40) for _ in range(HARD_GROUPS)]
    amounts[-1] += (2 - sum(amounts)) % (2 * HARD_PROVIDERS)
    capacity = (sum(amounts) - 2) // HARD_PROVIDERS + 1
    providers = [Provider(f"host/{n}", "host", {GPU: ProviderInventory(capacity)}) for n in range(HARD_PROVIDERS)]
    groups = [RequestGroup(f"_{number}", {GPU: amount}) for number, amount in enumerate(amounts)]
    return ProviderTree([Provider("host"), *providers]), TreeRequest(groups, NONE)


def request(groups: int, policy: str) -> SchedulingRequest:
    device_groups = tuple(RequestGroup(f"_{number}", {GPU: 1}) for number in range(groups))
    return SchedulingRequest("trees", {"VCPU": 1, "MEMORY_MB": 512}, groups=device_groups, groups_policy=policy)


def found_hosts(subject: TimedSubject) -> int:
    candidates = subject(1).candidates
    return len(candidates[0]) if candidates else 0


def make_table(count: int, devices: int) -> HostTable:
    nodes: dict[str, dict[str, Any]] = {}
    for name, node in hosts.make_nodes(count).items():
        nodes[name] = node
        for number in range(devices):
            child = {"root": name, "parent": name, "inventories": {GPU: Inventory(1).as_dict()}, "traits": []}
            nodes[f"{name}/gpu{number}"] = child
    return HostTable.from_snapshot(hosts.snapshot(nodes, {}), reads=default_driver.default().reads)


def placement_providers(count: int, devices: int) -> list[dict[str, Any]]:
    providers = []
    for name, node in hosts.make_nodes(count).items():
        root = hosts.stable_uuid(name)
        providers.append(make_provider(root, node["inventories"]))
        for number in range(devices):
            device = hosts.stable_uuid(f"{name}/gpu{number}")
            providers.append(make_provider(device, {GPU: Inventory(1).as_dict()}, parent=root))
    return providers


def _ask(peer: PeerProcess, groups: int, policy: str) -> tuple[int, float]:
    query = [("limit", str(LIMIT)), ("resources", "VCPU:1,MEMORY_MB:512"), ("group_policy", policy)]
    query += [(f"resources_{number}", f"{GPU}:1") for number in range(groups)]
    ((answer, seconds),) = peer.ask("ask", queries=[query])
    if isinstance(answer, str):
        raise PeerFailed(answer)
    return len(answer), float(seconds)
