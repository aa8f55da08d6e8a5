# SPDX-License-Identifier: Apache-2.0
"""lab.sh race: losses of concurrent scheduler workers by conflicts, compared with a single worker."""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devstack.lab import hosts, partitions, private_servers
from devstack.lab.benchmark import Benchmark, host_count, option, share
from devstack.lab.hosts import ServerRequest
from devstack.lab.race import worker
from devstack.lab.race.regret import JudgedClaim, entries, judged_claims, regret
from devstack.lab.rows import ResultRow
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import Verdict
from scheduler_svc.core.drivers.driver import MAX_CANDIDATES
from scheduler_svc.store.records import Verification

FIRST_BUDGET = 0.98
REGRET_BUDGET = 0.01
ROUND_BUDGET, CALLERS_OF_ROUNDS = 4.0, 16  # mean calls per round if each worker has this many callers
JUDGED_CLAIMS = 2_000  # claims whose regret is computed, evenly spread over the race
SEED = 5


@dataclass(frozen=True, slots=True)
class RaceRun:
    """Result of filling one empty partition."""

    tally: worker.RaceTally
    seconds: float
    claims: Sequence[JudgedClaim]
    verification: Verification

    @property
    def per_second(self) -> float:
        return self.tally.placements / self.seconds


class RaceBenchmark(Benchmark):
    """Fill a cluster with N worker processes as fast as possible, and with a single one, from the same requests.

    Each worker has its own replica and decides in its own process; all claim in one private redis-server (everysec).
    """

    ARGUMENTS = (
        option("--workers", "Concurrent workers", default=8),
        option("--hosts", "Empty hosts", host_count, 500),
        option("--fill", "Share of the scarcest resource class to request", share, 0.95, metavar="SHARE"),
        option("--subset", "Each worker, but for the single one, draws from the N best hosts", default=1),
        option("--callers", "Threads that ask each worker, but for the single one, at the same time", default=1),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        nodes = hosts.make_nodes(args.hosts)
        servers = fill(nodes, args.fill)
        if not servers:
            raise CommandFailed(f"A share of {args.fill} of {args.hosts} hosts is less than one server: ask for more")
        with private_servers.running_redis("everysec") as server:
            single_run = _run(server.url(), "alone", nodes, servers, workers=1)
            own = {"workers": args.workers, "subset": args.subset, "callers": args.callers}
            race_run = _run(server.url(), "race", nodes, servers, **own)
        yield from _rows(race_run, single_run, args.callers)


def fill(nodes: hosts.Nodes, fill_share: float) -> list[ServerRequest]:
    capacity: Counter[str] = Counter()
    for node in nodes.values():
        capacity.update({name: unit["capacity"] for name, unit in node["inventories"].items()})
    requested: Counter[str] = Counter()

    def within(server: ServerRequest) -> bool:
        requested.update(server.request.resources)
        return all(requested[name] <= fill_share * capacity[name] for name in requested)

    return list(itertools.takewhile(within, hosts.stream(SEED)))


def _run(url: str, partition: str, nodes: hosts.Nodes, servers: Sequence[ServerRequest], **settings: int) -> RaceRun:
    with partitions.opened(url, partition, log_length=worker.LOG_LENGTH) as store:
        hosts.join(store, nodes)
        before = store.snapshot()
        tally, seconds = worker.run(url, partition, servers, **settings)
        claims = list(judged_claims(before, entries(store, before.position), max(1, tally.placements // JUDGED_CLAIMS)))
        return RaceRun(tally, seconds, claims, store.verify())


def _rows(race_run: RaceRun, single_run: RaceRun, callers: int) -> Iterator[ResultRow]:
    tally, single_tally = race_run.tally, single_run.tally
    yield ResultRow(
        "calls a round",
        tally.calls / tally.rounds,
        ROUND_BUDGET if callers >= CALLERS_OF_ROUNDS else None,
        "at least",
        {"rounds": tally.rounds, "callers": callers},
    )
    yield ResultRow(
        "servers refused beyond those of a single worker",
        tally.refusals - single_tally.refusals,
        0,
        figures={"refused": tally.refusals, "alone_refused": single_tally.refusals},
    )
    yield ResultRow(
        "first choice won",
        tally.first_choices / tally.scripts,
        FIRST_BUDGET,
        "at least",
        {
            "decisions": tally.scripts,
            "won": tally.first_choices,
            "very_first_share": tally.very_first_choices / tally.scripts,
            "alone_share": single_tally.first_choices / single_tally.scripts,
        },
    )
    yield ResultRow(
        "candidates a script, most",
        tally.max_candidates,
        MAX_CANDIDATES,
        figures={"mean": tally.verdicts.total() / tally.scripts, "alone_most": single_tally.max_candidates},
    )
    middle = len(race_run.claims) // 2
    yield ResultRow(
        "score regret",
        regret(race_run.claims),
        REGRET_BUDGET,
        figures={
            "first_half_regret": regret(race_run.claims[:middle]),
            "second_half_regret": regret(race_run.claims[middle:]),
            "entries_behind_mean": tally.behind / tally.scripts,
            "alone_regret": regret(single_run.claims),
            "alone_entries_behind_mean": single_tally.behind / single_tally.scripts,
        },
    )
    verification = race_run.verification
    yield ResultRow(
        "overcommit",
        len(verification.excess) + len(verification.problems),
        0,
        figures={"claims": sum(verification.claims.values()), "alone_overcommit": len(single_run.verification.excess)},
    )
    lost_candidates = {verdict.value: tally.verdicts[verdict] for verdict in Verdict if verdict not in worker.WON}
    fits, passed = tally.verdicts[Verdict.FITS], tally.verdicts[Verdict.PASSED]
    yield ResultRow(
        "candidates lost, of those tried",
        sum(lost_candidates.values()) / (sum(lost_candidates.values()) + fits),
        figures={"FITS": fits, "PASSED": passed, **lost_candidates},
    )
    yield ResultRow(
        "placements a second",
        race_run.per_second / single_run.per_second,
        figures={
            "placed_per_s": race_run.per_second,
            "alone_placed_per_s": single_run.per_second,
        },
    )
