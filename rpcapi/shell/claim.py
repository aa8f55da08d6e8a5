# SPDX-License-Identifier: Apache-2.0
"""``gantt claim``: what the store holds for whom, and whether its sums are right."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.shell import partition
from rpcapi.shell.columns import Counts, Fields, Lines, Moment, Text
from rpcapi.shell.command import Lister, ShowOne

COLUMNS = ("consumer", "attempt", "state", "host", "type", "resources", "deadline", "partition")


class _Amounts(Fields):
    def human_readable(self) -> str:
        return ", ".join(f"{amount} {resource_class}" for resource_class, amount in self._value.items())


class _Allocations(Fields):
    def human_readable(self) -> str:
        return "\n".join(
            f"{provider}: " + ", ".join(f"{amount} {resource_class}" for resource_class, amount in amounts.items())
            for provider, amounts in self._value.items()
        )


def _sum(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in allocations.values():
        for resource_class, amount in amounts.items():
            total[resource_class] = total.get(resource_class, 0) + amount
    return total


class ClaimList(Lister):
    """List live claims, partition by partition."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", help="Only those on this host, or node as host/node.")
        parser.add_argument("--consumer", metavar="UUID", help="Only those of this consumer.")
        partition.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        wanted = {"host": parsed_args.host, "consumer": parsed_args.consumer}
        return COLUMNS, [
            (
                claim["consumer"],
                claim["attempt"],
                claim["state"],
                claim["host"],
                claim["type"],
                _Amounts(_sum(claim["allocations"])),
                Moment(claim.get("deadline_ms")),
                name,
            )
            for name in self.session.partitions(parsed_args.partition)
            for claim in self.session.pages(self.session.claims_of(name).list_claims, "claims", **wanted)
        ]


class ClaimShow(ShowOne):
    """Show the live claim of a consumer."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("consumer", metavar="UUID", help="The consumer: an instance, or a migration.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        uuid = parsed_args.consumer
        found = [
            (name, claim)
            for name in self.session.partitions()
            for claim in self.session.pages(self.session.claims_of(name).list_claims, "claims", consumer=uuid)
        ]
        if not found:
            raise errors.NotFound(what=f"A live claim of {uuid}")
        where, claim = found[0]
        shown = {
            "partition": where,
            "consumer": claim["consumer"],
            "attempt": claim["attempt"],
            "generation": claim["generation"],
            "type": claim["type"],
            "project": claim["project"],
            "user": claim["user"],
            "state": claim["state"],
            "host": claim["host"],
            "allocations": _Allocations(claim["allocations"]),
            "alternates": Lines(claim.get("alternates") or []),
            "group": Text(claim.get("group_id")),
            "request_id": claim["request_id"],
            "created": Moment(claim.get("created_ms")),
            "deadline": Moment(claim.get("deadline_ms")),
        }
        return tuple(shown), tuple(shown.values())


class ClaimVerify(ShowOne):
    """Recompute every sum from the claims and compare, in each partition; exits 1 unless all is clean."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        partition.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        names = self.session.partitions(parsed_args.partition)
        reports = [self.session.ask(self.session.claims_of(name).verify) for name in names]
        clean = all(report.clean for report in reports)
        self.exit_code = 0 if clean else 1
        claims: Counter[str] = Counter()
        for report in reports:
            claims.update(report.claims)
        shown = {
            "partition": ", ".join(names),
            "clean": clean,
            "claims": Counts(dict(claims)),
            "providers": sum(report.providers for report in reports),
            "problems": Lines(_told_apart(reports, "problems")),
            "excess": Lines([one for report in reports for one in report.excess]),
            "awaited": Lines(_told_apart(reports, "awaited")),
            "epoch": _each(reports, "epoch"),
            "position": _each(reports, "position"),
        }
        return tuple(shown), tuple(shown.values())


def _told_apart(reports: Sequence[Any], field: str) -> list[str]:
    """Return the lines of all reports; where there are several, each with its partition."""
    if len(reports) == 1:
        return list(getattr(reports[0], field))
    return [f"{report.partition}: {line}" for report in reports for line in getattr(report, field)]


def _each(reports: Sequence[Any], field: str) -> Any:
    """Return the figure of the one report, or those of all by partition."""
    if len(reports) == 1:
        return getattr(reports[0], field)
    return Counts({report.partition: getattr(report, field) for report in reports})
