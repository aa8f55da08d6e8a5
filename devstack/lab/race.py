# SPDX-License-Identifier: Apache-2.0
"""gantt-lab race: what do many workers lose by deciding at once, beside one worker alone?"""

import argparse
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.lab import hosts, private_redis, racer, requests
from devstack.lab.command import Question, positive
from devstack.lab.regret import choices, entries, regret
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


def share(text: str) -> float:
    """Return how full to fill; for argparse."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share above 0 and up to 1")
    return number


@dataclass(frozen=True, slots=True)
class Run:
    """One filling of an empty partition."""

    tally: racer.Tally
    seconds: float
    regret: float
    verification: Verification

    @property
    def per_second(self) -> float:
        """How many servers were placed a second."""
        return self.tally.placed / self.seconds


@dataclass(frozen=True, slots=True)
class Course:
    """Where and what to fill: a server's URL, the nodes, the requests in order."""

    url: str
    nodes: hosts.Nodes
    wanted: Sequence[Wanted]


class Race(Question):
    """Let N worker processes fill a cluster as fast as they can, and then one alone, with the same requests.

    Each worker has its own replica and decides in-process; claims go to one private redis-server (everysec).
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--workers", type=positive, default=8, metavar="N", help="Workers deciding at once (%(default)s)."
        )
        parser.add_argument("--hosts", type=positive, default=500, metavar="N", help="Empty hosts (%(default)s).")
        parser.add_argument(
            "--fill",
            type=share,
            default=0.95,
            metavar="SHARE",
            help="Ask for so much of the class of resources that is scarcest (%(default)s).",
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
            course = Course(server.url(), nodes, wanted)
            alone = _run(course, "alone", 1, bar)
            many = _run(course, "race", args.workers, bar)
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


def _run(course: Course, partition: str, workers: int, bar: Any) -> Run:
    store = RedisStore(course.url, partition, log_length=racer.LOG_LENGTH)
    try:
        store.check_identity()
        hosts.join(store, course.nodes)
        before = store.snapshot()
        tally, seconds = racer.run(course.url, partition, course.wanted, workers, bar)
        made = choices(before, entries(store, before.position), max(1, tally.placed // JUDGED))
        return Run(tally, seconds, regret(made), store.verify())
    finally:
        store.close()


def _rows(many: Run, alone: Run) -> Iterator[Row]:
    mine, lone = many.tally, alone.tally
    yield Row(
        "first choice won",
        mine.first / mine.scripts,
        FIRST_BUDGET,
        "at least",
        {"decisions": mine.scripts, "won": mine.first, "alone_share": lone.first / lone.scripts},
    )
    yield Row(
        "candidates a script, most",
        mine.most,
        WIDTH,
        figures={"mean": mine.verdicts.total() / mine.scripts, "alone_most": lone.most},
    )
    yield Row("score regret", many.regret, REGRET_BUDGET, figures={"alone_regret": alone.regret})
    found = many.verification
    yield Row(
        "overcommit",
        len(found.excess) + len(found.problems),
        0,
        figures={"claims": sum(found.claims.values()), "alone_overcommit": len(alone.verification.excess)},
    )
    lost = {verdict.value: mine.verdicts[verdict] for verdict in Verdict if verdict is not Verdict.FITS}
    yield Row(
        "candidates lost, of those tried",
        sum(lost.values()) / mine.verdicts.total(),
        figures={"FITS": mine.verdicts[Verdict.FITS], **lost},
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
