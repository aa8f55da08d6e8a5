# SPDX-License-Identifier: Apache-2.0
"""``gantt claim``: what the store holds for whom, and whether its sums are right."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi import errors
from rpcapi.shell.columns import Counts, Fields, Lines, Moment, Text
from rpcapi.shell.command import Lister, ShowOne

COLUMNS = ("consumer", "attempt", "state", "host", "type", "resources", "deadline")


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
    """List live claims of the partition."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", help="Only those on this host, or node as host/node.")
        parser.add_argument("--consumer", metavar="UUID", help="Only those of this consumer.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        claims = self.session.pages(
            self.session.claims.list_claims, "claims", host=parsed_args.host, consumer=parsed_args.consumer
        )
        return COLUMNS, [
            (
                claim["consumer"],
                claim["attempt"],
                claim["state"],
                claim["host"],
                claim["type"],
                _Amounts(_sum(claim["allocations"])),
                Moment(claim.get("deadline_ms")),
            )
            for claim in claims
        ]


class ClaimShow(ShowOne):
    """Show the live claim of a consumer."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("consumer", metavar="UUID", help="The consumer: an instance, or a migration.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        uuid = parsed_args.consumer
        found = list(self.session.pages(self.session.claims.list_claims, "claims", consumer=uuid))
        if not found:
            raise errors.NotFound(what=f"A live claim of {uuid}")
        claim = found[0]
        shown = {
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
    """Recompute every sum of the partition from its claims and compare; exits 1 unless all is clean."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        report = self.session.ask(self.session.claims.verify)
        self.exit_code = 0 if report.clean else 1
        shown = {
            "partition": report.partition,
            "clean": report.clean,
            "claims": Counts(report.claims),
            "providers": report.providers,
            "problems": Lines(report.problems),
            "excess": Lines(report.excess),
            "awaited": Lines(report.awaited),
            "epoch": report.epoch,
            "position": report.position,
        }
        return tuple(shown), tuple(shown.values())
