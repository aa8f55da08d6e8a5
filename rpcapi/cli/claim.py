# SPDX-License-Identifier: Apache-2.0
"""``gantt claim``: live claims, and verification of the store's sums."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.cli import partition
from rpcapi.cli.columns import CountsColumn, FieldsColumn, LinesColumn, TextColumn, TimestampColumn
from rpcapi.cli.command import Lister, ShowOne

COLUMNS = ("consumer", "attempt", "state", "host", "type", "resources", "deadline", "partition")


class _ClaimAmountsColumn(FieldsColumn):
    def human_readable(self) -> str:
        return ", ".join(f"{amount} {resource_class}" for resource_class, amount in self._value.items())


class _AllocationsColumn(FieldsColumn):
    def human_readable(self) -> str:
        return "\n".join(
            f"{provider}: " + ", ".join(f"{amount} {resource_class}" for resource_class, amount in amounts.items())
            for provider, amounts in self._value.items()
        )


def _sum_amounts(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in allocations.values():
        for resource_class, amount in amounts.items():
            total[resource_class] = total.get(resource_class, 0) + amount
    return total


class ListClaims(Lister):
    """List live claims by partition."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", help="Only claims on this host, or node as host/node.")
        parser.add_argument("--consumer", metavar="UUID", help="Only claims of this consumer.")
        partition.add_partition_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        filters = {"host": parsed_args.host, "consumer": parsed_args.consumer}
        return COLUMNS, [
            (
                claim["consumer"],
                claim["attempt"],
                claim["state"],
                claim["host"],
                claim["type"],
                _ClaimAmountsColumn(_sum_amounts(claim["allocations"])),
                TimestampColumn(claim.get("deadline_ms")),
                name,
            )
            for name in self.session.partitions(parsed_args.partition)
            for claim in self.session.list_all(self.session.claims_of(name).list_claims, "claims", **filters)
        ]


class ShowClaim(ShowOne):
    """Show the live claim of a consumer."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("consumer", metavar="UUID", help="The consumer: an instance or a migration.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        uuid = parsed_args.consumer
        matches = [
            (name, claim)
            for name in self.session.partitions()
            for claim in self.session.list_all(self.session.claims_of(name).list_claims, "claims", consumer=uuid)
        ]
        if not matches:
            raise errors.NotFound(what=f"A live claim of {uuid}")
        partition_name, claim = matches[0]
        fields = {
            "partition": partition_name,
            "consumer": claim["consumer"],
            "attempt": claim["attempt"],
            "generation": claim["generation"],
            "type": claim["type"],
            "project": claim["project"],
            "user": claim["user"],
            "state": claim["state"],
            "host": claim["host"],
            "allocations": _AllocationsColumn(claim["allocations"]),
            "alternates": LinesColumn(claim.get("alternates") or []),
            "group": TextColumn(claim.get("group_id")),
            "request_id": claim["request_id"],
            "created": TimestampColumn(claim.get("created_ms")),
            "deadline": TimestampColumn(claim.get("deadline_ms")),
        }
        return tuple(fields), tuple(fields.values())


class VerifyClaims(ShowOne):
    """Recompute all sums from the claims in each partition; exits 1 if any differs."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        partition.add_partition_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        names = self.session.partitions(parsed_args.partition)
        reports = [self.session.call(self.session.claims_of(name).verify) for name in names]
        clean = all(report.clean for report in reports)
        self.exit_code = 0 if clean else 1
        claims: Counter[str] = Counter()
        for report in reports:
            claims.update(report.claims)
        fields = {
            "partition": ", ".join(names),
            "clean": clean,
            "claims": CountsColumn(dict(claims)),
            "providers": sum(report.providers for report in reports),
            "problems": LinesColumn(_report_lines(reports, "problems")),
            "excess": LinesColumn([excess_row for report in reports for excess_row in report.excess]),
            "awaited": LinesColumn(_report_lines(reports, "awaited")),
            "epoch": _report_values(reports, "epoch"),
            "position": _report_values(reports, "position"),
        }
        return tuple(fields), tuple(fields.values())


def _report_lines(reports: Sequence[Any], field: str) -> list[str]:
    """Return the lines of all reports; if there are several, prefixed with the partition."""
    if len(reports) == 1:
        return list(getattr(reports[0], field))
    return [f"{report.partition}: {line}" for report in reports for line in getattr(report, field)]


def _report_values(reports: Sequence[Any], field: str) -> Any:
    """Return the value of the only report, or the values by partition."""
    if len(reports) == 1:
        return getattr(reports[0], field)
    return CountsColumn({report.partition: getattr(report, field) for report in reports})
