# SPDX-License-Identifier: Apache-2.0
"""``gantt claim``: live claims, and verification of the store's sums."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cliff.columns import FormattableColumn

from rpcapi import errors
from rpcapi.cli import api_providers, partition
from rpcapi.cli.argument import Argument
from rpcapi.cli.columns import CountsColumn, FieldsColumn, LinesColumn, TextColumn, TimestampColumn
from rpcapi.cli.command import Lister, ShowOne
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimRole

COLUMNS = (
    *("consumer", "attempt", "role", "migration", "state", "owner", "host", "type", "resources", "deadline"),
    "partition",
)


class _ClaimAmountsColumn(FieldsColumn):
    def human_readable(self) -> str:
        return ", ".join(f"{amount} {resource_class}" for resource_class, amount in self._value.items())


class _AllocationsColumn(FieldsColumn):
    def human_readable(self) -> str:
        return "\n".join(
            f"{provider}: " + ", ".join(f"{amount} {resource_class}" for resource_class, amount in amounts.items())
            for provider, amounts in self._value.items()
        )


class _HostColumn(FormattableColumn[Any]):
    """The host of a claim; of one that a client of the Placement API wrote, the providers that it holds from."""

    def human_readable(self) -> str:
        claim = self._value
        return ", ".join(claim["allocations"]) if claim["host"] == names.API_HOST else str(claim["host"])

    def machine_readable(self) -> Any:
        return self._value["host"]


def _sum_amounts(allocations: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in allocations.values():
        for resource_class, amount in amounts.items():
            total[resource_class] = total.get(resource_class, 0) + amount
    return total


class ListClaims(Lister):
    """List live claims by partition."""

    ARGUMENTS = (
        Argument("--host", help="Only claims on this host, node as host/node, or provider of the Placement API."),
        Argument("--consumer", metavar="UUID", help="Only claims of this consumer."),
        partition.PARTITION_OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        rows = [
            (
                claim["consumer"],
                claim["attempt"],
                claim["role"],
                TextColumn(claim["migration"]),
                claim["state"],
                api_providers.owner_of(claim["host"]),
                _HostColumn(claim),
                claim["type"],
                _ClaimAmountsColumn(_sum_amounts(claim["allocations"])),
                TimestampColumn(claim.get("deadline_ms")),
                name,
            )
            for name in self.session.partitions(parsed_args.partition)
            for claim in self._claims(name, parsed_args)
        ]
        return COLUMNS, api_providers.show_names_in_rows(self.session, rows)

    def _claims(self, partition_name: str, args: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
        """Yield claims of a host, and those of the API's consumers that hold from it."""
        listing, consumer = self.session.claims_of(partition_name).list_claims, args.consumer
        host = self._provider(args.host)
        yield from self.session.list_all(listing, "claims", host=host, consumer=consumer)
        if host is None or host == names.API_HOST:
            return
        for claim in self.session.list_all(listing, "claims", host=names.API_HOST, consumer=consumer):
            holds = any(names.matches(provider, host) for provider in claim["allocations"])
            if holds and not names.matches(claim["host"], host):
                yield claim

    def _provider(self, text: str | None) -> str | None:
        """Return the id of a provider of the API by its name or UUID; any other text as it is."""
        if text is None or text == names.API_HOST:
            return text
        try:
            self.session.call(self.session.scheduler.get_host_state, "service", names.host_of(names.canonical(text)))
        except (errors.UnknownHost, errors.InvalidName):
            state = api_providers.find(self.session, text)
            return text if state is None else str(state.name)
        return text


class ShowClaim(ShowOne):
    """Show the live claim of a consumer.

    An instance that moves has two: its own at the destination, and the migration's at the source.
    """

    ARGUMENTS = (Argument("consumer", metavar="UUID", help="The consumer: an instance or a migration."),)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        uuid = parsed_args.consumer
        matches = [
            (name, claim)
            for name in self.session.partitions()
            for claim in self.session.list_all(self.session.claims_of(name).list_claims, "claims", consumer=uuid)
        ]
        if not matches:
            raise errors.NotFound(what=f"A live claim of {uuid}")
        partition_name, claim = min(matches, key=lambda match: match[1]["role"] == ClaimRole.SOURCE)
        fields = {
            "partition": partition_name,
            "consumer": claim["consumer"],
            "attempt": claim["attempt"],
            "role": claim["role"],
            "migration": TextColumn(claim["migration"]),
            "generation": claim["generation"],
            "type": claim["type"],
            "project": claim["project"],
            "user": claim["user"],
            "state": claim["state"],
            "owner": api_providers.owner_of(claim["host"]),
            "host": _HostColumn(claim),
            "allocations": _AllocationsColumn(claim["allocations"]),
            "alternates": LinesColumn(claim.get("alternates") or []),
            "group": TextColumn(claim.get("group_id")),
            "request_id": claim["request_id"],
            "created": TimestampColumn(claim.get("created_ms")),
            "deadline": TimestampColumn(claim.get("deadline_ms")),
        }
        fields = api_providers.show_names(self.session, fields)
        return tuple(fields), tuple(fields.values())


class VerifyClaims(ShowOne):
    """Recompute all sums from the claims in each partition; exits 1 if any differs."""

    ARGUMENTS = (partition.PARTITION_OPTION,)

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        partitions = self.session.partitions(parsed_args.partition)
        reports = [self.session.call(self.session.claims_of(name).verify) for name in partitions]
        clean = all(report.clean for report in reports)
        self.exit_code = 0 if clean else 1
        claims: Counter[str] = Counter()
        for report in reports:
            claims.update(report.claims)
        fields = {
            "partition": ", ".join(partitions),
            "clean": clean,
            "claims": CountsColumn(dict(claims)),
            "providers": sum(report.providers for report in reports),
            "problems": LinesColumn(_report_lines(reports, "problems")),
            "excess": LinesColumn([excess_row for report in reports for excess_row in report.excess]),
            "awaited": LinesColumn(_report_lines(reports, "awaited")),
            "epoch": _report_values(reports, "epoch"),
            "position": _report_values(reports, "position"),
        }
        fields = api_providers.show_names(self.session, fields)
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
