# SPDX-License-Identifier: Apache-2.0
"""gantt-lab race: what do many workers lose by deciding at once, beside one worker alone?"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab import hosts, private_redis, racer, requests
from devstack.lab.command import Question, host_count, positive, share
from devstack.lab.regret import Choice, choices, entries, regret
from devstack.lab.requests import Wanted
from devstack.lab.rows import Row
from rpcapi.model.claims import Verdict
from rpcapi.shell.faults import CommandFailed
from scheduler_svc.drivers.driver import WIDTH
from scheduler_svc.store.records import Verification
from scheduler_svc.store.redis import RedisStore

FIRST_BUDGET = 0.98
REGRET_BUDGET = 0.01
JUDGED = 2_000  # claims whose regret is reckoned, evenly spread over the race
SEED = 5


@dataclass(frozen=True, slots=True)
class Run:
    """One filling of an empty partition."""

    tally: racer.Tally
    seconds: float
    choices: Sequence[Choice]
    verification: Verification

    @property
    def per_second(self) -> float:
        """How many servers were placed a second."""
        return self.tally.placed / self.seconds


class Race(Question):
    """Let N worker processes fill a cluster as fast as they can, and then one alone, with the same requests.

    Each worker has its own replica and decides in-process; claims go to one private redis-server (everysec).
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--workers", type=positive, default=8, metavar="N", help="Workers deciding at once (%(default)s)."
        )
        parser.add_argument("--hosts", type=host_count, default=500, metavar="N", help="Empty hosts (%(default)s).")
        parser.add_argument(
            "--fill",
            type=share,
            default=0.95,
            metavar="SHARE",
            help="Ask for so much of the class of resources that is scarcest (%(default)s).",
        )
        parser.add_argument(
            "--subset",
            type=positive,
            default=1,
            metavar="N",
            help="Draw each choice from so many best hosts: host_subset_size (%(default)s). One alone always takes "
            "the best.",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        nodes = hosts.make(args.hosts)
        wanted = fill(nodes, args.fill)
        if not wanted:
            raise CommandFailed(f"Not one server is a share of {args.fill} of {args.hosts} hosts: ask for more")
        with (
            self.bar(2 * len(wanted), "placing", args) as bar,
            private_redis.running("everysec") as server,
        ):
            alone = _run(racer.Field(server.url(), 1), "alone", nodes, wanted, bar=bar)
            many = _run(racer.Field(server.url(), args.workers, args.subset), "race", nodes, wanted, bar=bar)
        return list(_rows(many, alone))


def fill(nodes: hosts.Nodes, most: float) -> list[Wanted]:
    """Return requests for the share ``most`` of what the nodes hold of the class that is scarcest."""
    held: Counter[str] = Counter()
    for told in nodes.values():
        held.update({name: unit["capacity"] for name, unit in told["inventories"].items()})
    asked: Counter[str] = Counter()

    def within(one: Wanted) -> bool:
        asked.update(one.request.resources)
        return all(asked[name] <= most * held[name] for name in asked)

    return list(itertools.takewhile(within, requests.stream(SEED)))


def _run(course: racer.Field, partition: str, nodes: hosts.Nodes, wanted: Sequence[Wanted], *, bar: Any) -> Run:
    store = RedisStore(course.url, partition, log_length=racer.LOG_LENGTH)
    try:
        store.check_identity()
        hosts.join(store, nodes)
        before = store.snapshot()
        tally, seconds = racer.run(course, partition, wanted, bar)
        made = list(choices(before, entries(store, before.position), max(1, tally.placed // JUDGED)))
        return Run(tally, seconds, made, store.verify())
    finally:
        store.close()


def _rows(many: Run, alone: Run) -> Iterator[Row]:
    mine, lone = many.tally, alone.tally
    yield Row(
        "first choice won",
        mine.first / mine.scripts,
        FIRST_BUDGET,
        "at least",
        {
            "decisions": mine.scripts,
            "won": mine.first,
            "very_first_share": mine.very_first / mine.scripts,
            "alone_share": lone.first / lone.scripts,
        },
    )
    yield Row(
        "candidates a script, most",
        mine.most,
        WIDTH,
        figures={"mean": mine.verdicts.total() / mine.scripts, "alone_most": lone.most},
    )
    middle = len(many.choices) // 2
    yield Row(
        "score regret",
        regret(many.choices),
        REGRET_BUDGET,
        figures={
            "first_half_regret": regret(many.choices[:middle]),
            "second_half_regret": regret(many.choices[middle:]),
            "entries_behind_mean": mine.behind / mine.scripts,
            "alone_regret": regret(alone.choices),
            "alone_entries_behind_mean": lone.behind / lone.scripts,
        },
    )
    found = many.verification
    yield Row(
        "overcommit",
        len(found.excess) + len(found.problems),
        0,
        figures={"claims": sum(found.claims.values()), "alone_overcommit": len(alone.verification.excess)},
    )
    lost = {verdict.value: mine.verdicts[verdict] for verdict in Verdict if verdict not in racer.WON}
    fits, passed = mine.verdicts[Verdict.FITS], mine.verdicts[Verdict.PASSED]
    yield Row(
        "candidates lost, of those tried",
        sum(lost.values()) / (sum(lost.values()) + fits),
        figures={"FITS": fits, "PASSED": passed, **lost},
    )
    yield Row(
        "placements a second",
        many.per_second / alone.per_second,
        figures={
            "placed_per_s": many.per_second,
            "alone_placed_per_s": alone.per_second,
            "refused": mine.refused,
            "alone_refused": lone.refused,
        },
    )
