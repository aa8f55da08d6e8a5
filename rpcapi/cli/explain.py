# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: shows a recorded decision, or a dry run of one."""

import argparse
import collections
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.cli import api_providers, boot_options
from rpcapi.cli.argument import Argument
from rpcapi.cli.columns import CountsColumn, FieldsColumn, LinesColumn, TextColumn, TimestampColumn
from rpcapi.cli.command import ShowOne
from rpcapi.cli.error_messages import CommandFailed


def _format_best_host(item: Any) -> str:
    weights = ", ".join(f"{weigher} {value:+.3f}" for weigher, value in (item.get("weights") or {}).items())
    return f"{item['name']}: {item['score']:.3f}" + (f" ({weights})" if weights else "")


class _VerdictsColumn(LinesColumn):
    MAX_VERDICTS = 20

    def human_readable(self) -> str:
        lines = "\n".join(self._verdict(item) for item in self._value[: self.MAX_VERDICTS])
        rest = collections.Counter(item["answer"] for item in self._value[self.MAX_VERDICTS :])
        more = "".join(f"\nand {count} more {answer}" for answer, count in rest.most_common())
        return lines + more

    @staticmethod
    def _verdict(item: Any) -> str:
        tried = ", ".join(f"{name} {verdict}" for name, verdict in item.get("tried") or ())
        outcome = item["answer"] + (f" on {item['host']}" if item.get("host") else "")
        return f"{item['consumer']}: {outcome}" + (f" (tried {tried})" if tried else "")


class _SamplesColumn(FieldsColumn):
    """Sample hosts rejected for each reason."""

    def human_readable(self) -> str:
        return "\n".join(f"{reason}: {', '.join(names)}" for reason, names in self._value.items())


class _PrefiltersColumn(FieldsColumn):
    """The constraints that each prefilter added to the request."""

    def human_readable(self) -> str:
        rows = [(name, *item) for name, fields in self._value.items() for item in fields.items()]
        return "\n".join(f"{name}: {field} {_names(added)}" for name, field, added in rows)


class _FreshnessColumn(FieldsColumn):
    """The lag of the worker's replica behind the store."""

    def human_readable(self) -> str:
        entries, seconds = self._value["entries_behind"], self._value["heard_s"]
        parts = [] if entries is None else [f"{entries} log entries behind when the store answered"]
        parts += [] if seconds is None else [f"last contact with the store {seconds:.1f} s before"]
        return ", ".join(parts) or "-"


class _BatchColumn(FieldsColumn):
    """The batch of requests that were decided together with this one."""

    def human_readable(self) -> str:
        batch = self._value
        cut_by = f"best found within the limit of {batch['cut_by']}" if "cut_by" in batch else "best found"
        quality = "proven maximum" if batch["is_most"] else cut_by
        return (
            f"{batch['served']} of {batch['calls']} requests served, {quality}, objective {batch['objective']}; "
            f"{batch['served_one_by_one']} one by one; {batch['ms']:.1f} ms"
        )


class _NovaColumn(FieldsColumn):
    """What nova-scheduler chose for each instance of a request that was decided in shadow mode beside it."""

    def human_readable(self) -> str:
        return "\n".join(self._line(instance) for instance in self._value["instances"])

    @staticmethod
    def _line(instance: Any) -> str:
        hosts = f"Nova {instance['nova_host'] or '-'}, gantt {instance['gantt_host'] or '-'}"
        why = f" ({instance['why']})" if instance["why"] else ""
        return f"{instance['consumer']}: {instance['outcome']}: {hosts}{why}"


def _format_lost_claim(item: Any) -> str:
    name, verdict = item
    return f"{name} {verdict}"


class _RequestColumn(FieldsColumn):
    def human_readable(self) -> str:
        return "\n".join(f"{key}: {self._text(key, value)}" for key, value in self._value.items())

    @staticmethod
    def _text(field: str, value: Any) -> str:
        if isinstance(value, dict):
            template = "{1} {0}" if field == "resources" else "{0}={1}"  # amounts are shown as "2 VCPU"
            return ", ".join(template.format(key, item) for key, item in value.items())
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class ExplainDecision(ShowOne):
    """Explain a decision: hosts rejected by each filter, the best scores, and the verdicts of the claim script.

    With --dry-run, a scheduler worker decides a request of the options, which are those of `gantt boot`, on its
    present replica, and nothing is claimed.
    """

    ARGUMENTS = (
        Argument(
            "request_id",
            nargs="?",
            metavar="REQUEST_ID",
            help="Request id, as `gantt boot` and `gantt server show` print it.",
        ),
        Argument("--dry-run", action="store_true", help="Decide a request of the options below, without claims."),
        Argument("--count", type=int, default=1, metavar="N", help="Number of servers (1)."),
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        boot_options.add_options(parser, required=False)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        decision = self._decision(parsed_args)
        document = decision.document
        samples = document.get("samples") or {}
        spec = dict(document.get("spec") or {})
        rewritten = spec.pop("rewritten", None)
        fields = {
            "request_id": decision.request_id,
            "partition": decision.partition,
            "at": TimestampColumn(document.get("at_ms")),
            "outcome": document.get("outcome"),
            "why": TextColumn(document.get("why")),
            "instances": document.get("instances"),
            "request": _RequestColumn(_request_fields(spec)),
            **({"prefilters": _PrefiltersColumn(rewritten)} if rewritten else {}),
            "hosts_considered": document.get("hosts"),
            "hosts_refused": CountsColumn(document.get("reasons") or {}),
            **({"examples": _SamplesColumn(samples)} if samples else {}),
            "best": LinesColumn(document.get("best") or [], _format_best_host),
            "claims": _VerdictsColumn(document.get("verdicts") or []),
            **({"nova": _NovaColumn(document["nova"])} if "nova" in document else {}),
            **({"lost_before": LinesColumn(document["lost"], _format_lost_claim)} if document.get("lost") else {}),
            **({"candidates": LinesColumn(document["candidates"], ", ".join)} if "candidates" in document else {}),
            "driver": TextColumn(document.get("driver")),
            **({"batch": _BatchColumn(document["batch"])} if "batch" in document else {}),
            "seed": TextColumn(document.get("seed")),
            "epoch": document.get("epoch"),
            "position": document.get("position"),
            "freshness": _FreshnessColumn(_freshness(document)),
        }
        fields = api_providers.show_names(self.session, fields)
        return tuple(fields), tuple(fields.values())

    def _decision(self, args: argparse.Namespace) -> Any:
        if args.dry_run == (args.request_id is not None):
            raise CommandFailed("Specify either a REQUEST_ID, or --dry-run with the options of `gantt boot`")
        if not args.dry_run:
            return self.session.call(self.session.scheduler.explain, args.request_id)
        if args.flavor is None:
            raise CommandFailed("--dry-run needs --flavor; see `gantt flavor list`")
        from rpcapi.validation.instances import check_count  # noqa: PLC0415 - imported only by the commands that need it

        check_count(args.count, self.session.conf.rpc.max_instances)
        spec = boot_options.make_spec(self.session, args)
        return self.session.call(self.session.scheduler.dry_run, spec, args.count)


def _names(added: Iterable[Any]) -> str:
    return ", ".join(" or ".join(item) if isinstance(item, list) else str(item) for item in added)


def _freshness(document: dict[str, Any]) -> dict[str, Any]:
    """Return the log entries that the decision did not know, and the seconds since the last contact with the store."""
    answered, position = document.get("answered_position"), document.get("position")
    behind = None
    if answered is not None and position is not None:
        own = 1 if document.get("outcome") == "selected" else 0  # the claim's own entry
        behind = max(0, answered - position - own)
    return {"entries_behind": behind, "heard_s": document.get("heard_s")}


def _request_fields(spec: dict[str, Any]) -> dict[str, Any]:
    """Return the non-empty fields of the request."""
    return {key: value for key, value in spec.items() if value not in (None, [], {}, "")}
