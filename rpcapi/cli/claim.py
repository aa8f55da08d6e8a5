# SPDX-License-Identifier: Apache-2.0
"""``gantt claim``: live claims, and verification of the store's sums."""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.admin import api_providers
from rpcapi.admin.argument import Argument
from rpcapi.cli import partition, provider_names
from rpcapi.cli.command import (
    CommandOutput,
    Lister,
    ShowOne,
    TableCell,
    counts_cell,
    fields_cell,
    lines_cell,
    timestamp_cell,
)
from rpcapi.resources import names
from rpcapi.resources.claims import ClaimRole
from rpcapi.validation.instances import canonical_uuid

COLUMNS = (
    "consumer",
    "attempt",
    "role",
    "migration",
    "state",
    "owner",
    "host",
    "type",
    "resources",
    "deadline",
    "partition",
)
FIELDS = ("consumer", "attempt", "role", "migration", "generation", "type", "project", "user", "state")


def _format_amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{amount} {resource_class}" for resource_class, amount in amounts.items())


def _format_allocation(provider: str, amounts: Mapping[str, int]) -> str:
    return f"{provider}: {_format_amounts(amounts)}"


def _host_cell(claim: Mapping[str, Any]) -> TableCell:
    """Show the claim's host, or its providers if the Placement API made the claim."""
    host = claim["host"]
    return TableCell(host, ", ".join(claim["allocations"]) if host == names.API_HOST else host)


def _amounts_cell(allocations: Mapping[str, Mapping[str, int]]) -> TableCell:
    total: Counter[str] = Counter()
    for amounts in allocations.values():
        total.update(amounts)
    return TableCell(dict(total), _format_amounts(total))


class ListClaims(Lister):
    """List live claims by partition."""

    ARGUMENTS = (
        Argument("--host", help="Only claims on this host, node as host/node, or provider of the Placement API."),
        Argument("--consumer", type=canonical_uuid, metavar="UUID", help="Only claims of this consumer."),
        partition.PARTITION_OPTION,
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        rows = [
            (
                *(claim[name] for name in ("consumer", "attempt", "role", "migration", "state")),
                api_providers.owner_of(claim["host"]),
                _host_cell(claim),
                claim["type"],
                _amounts_cell(claim["allocations"]),
                timestamp_cell(claim.get("deadline_ms")),
                name,
            )
            for name in self.session.partitions(parsed_args.partition)
            for claim in self._claims(name, parsed_args)
        ]
        return COLUMNS, provider_names.show_names_in_rows(self.session, rows)

    def _claims(self, partition_name: str, args: argparse.Namespace) -> Iterator[Mapping[str, Any]]:
        """Yield a host's claims, including claims of API consumers with resources on the host."""
        host, consumer = self._provider(args.host), args.consumer
        yield from self.session.list_claims(partition_name, host=host, consumer=consumer)
        if host is None or host == names.API_HOST:
            return
        for claim in self.session.list_claims(partition_name, host=names.API_HOST, consumer=consumer):
            holds = any(names.matches(provider, host) for provider in claim["allocations"])
            if holds and not names.matches(claim["host"], host):
                yield claim

    def _provider(self, text: str | None) -> str | None:
        """Return the id of the API provider with this name or uuid, or any other text unchanged."""
        if text is None or text == names.API_HOST:
            return text
        try:
            self.session.get_state("service", names.host_of(names.canonical(text)))
        except (errors.UnknownHost, errors.InvalidName):
            state = api_providers.find(self.session, text)
            return text if state is None else str(state.name)
        return text


class ShowClaim(ShowOne):
    """Show the live claim of a consumer; a migration's uuid shows the claim at its source."""

    ARGUMENTS = (
        Argument("consumer", type=canonical_uuid, metavar="UUID", help="The consumer: an instance or a migration."),
    )

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        uuid = parsed_args.consumer
        matches = [
            (name, claim)
            for name in self.session.partitions()
            for claim in self.session.list_claims(name, consumer=uuid)
        ]
        if not matches:
            raise errors.NotFound(what=f"A live claim of {uuid}")
        partition_name, claim = min(matches, key=lambda match: match[1]["role"] == ClaimRole.SOURCE)
        fields = {
            "partition": partition_name,
            **{name: claim[name] for name in FIELDS},
            "owner": api_providers.owner_of(claim["host"]),
            "host": _host_cell(claim),
            "allocations": fields_cell(claim["allocations"], _format_allocation),
            "alternates": lines_cell(claim.get("alternates") or []),
            "group": claim.get("group_id"),
            "request_id": claim["request_id"],
            "created": timestamp_cell(claim.get("created_ms")),
            "deadline": timestamp_cell(claim.get("deadline_ms")),
        }
        return self.dict2columns(provider_names.show_names(self.session, fields))


class VerifyClaims(ShowOne):
    """Recompute all sums from the claims in each partition; exits 1 if any differs."""

    ARGUMENTS = (partition.PARTITION_OPTION,)

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
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
            "claims": counts_cell(dict(claims)),
            "providers": sum(report.providers for report in reports),
            "problems": lines_cell(_report_lines(reports, "problems")),
            "excess": lines_cell([excess_row for report in reports for excess_row in report.excess]),
            "awaited": lines_cell(_report_lines(reports, "awaited")),
            "epoch": _report_values(reports, "epoch"),
            "position": _report_values(reports, "position"),
        }
        return self.dict2columns(provider_names.show_names(self.session, fields))


def _report_lines(reports: Sequence[Any], field: str) -> list[str]:
    if len(reports) == 1:
        return list(getattr(reports[0], field))
    return [f"{report.partition}: {line}" for report in reports for line in getattr(report, field)]


def _report_values(reports: Sequence[Any], field: str) -> Any:
    if len(reports) == 1:
        return getattr(reports[0], field)
    return counts_cell({report.partition: getattr(report, field) for report in reports})
