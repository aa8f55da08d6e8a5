# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: a recorded decision, or a dry run."""

import argparse
import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rpcapi.admin import boot_options
from rpcapi.admin.argument import Argument
from rpcapi.cli import provider_names
from rpcapi.cli.command import (
    CommandFailed,
    CommandOutput,
    ShowOne,
    TableCell,
    counts_cell,
    fields_cell,
    lines_cell,
    timestamp_cell,
)

MAX_VERDICTS = 20  # shown one by one; further ones are counted


def _format_best_host(item: Any) -> str:
    weights = ", ".join(f"{weigher} {value:+.3f}" for weigher, value in (item.get("weights") or {}).items())
    return f"{item['name']}: {item['score']:.3f}" + (f" ({weights})" if weights else "")


def _format_verdicts(verdicts: Sequence[Any]) -> str:
    rest = collections.Counter(item["answer"] for item in verdicts[MAX_VERDICTS:])
    more = [f"and {count} more {answer}" for answer, count in rest.most_common()]
    return "\n".join([*map(_format_verdict, verdicts[:MAX_VERDICTS]), *more])


def _format_verdict(item: Any) -> str:
    tried = ", ".join(map(_format_claim, item.get("tried") or ()))
    outcome = item["answer"] + (f" on {item['host']}" if item.get("host") else "")
    return f"{item['consumer']}: {outcome}" + (f" (tried {tried})" if tried else "")


def _format_claim(item: Any) -> str:
    name, verdict = item
    return f"{name} {verdict}"


def _format_samples(reason: str, names: Sequence[str]) -> str:
    return f"{reason}: {', '.join(names)}"


def _format_prefilter(name: str, fields: Mapping[str, Any]) -> str:
    return "\n".join(f"{name}: {field} {_names(added)}" for field, added in fields.items())


def _format_batch(batch: Mapping[str, Any]) -> str:
    best = f"best found within the limit of {batch['stop_reason']}" if "stop_reason" in batch else "best found"
    quality = "proven maximum" if batch["is_most"] else best
    return (
        f"{batch['served']} of {batch['calls']} requests served, {quality}, objective {batch['objective']}; "
        f"{batch['served_one_by_one']} one by one; {batch['ms']:.1f} ms"
    )


def _format_nova_choice(instance: Any) -> str:
    hosts = f"Nova {instance['nova_host'] or '-'}, gantt {instance['gantt_host'] or '-'}"
    why = f" ({instance['why']})" if instance["why"] else ""
    return f"{instance['consumer']}: {instance['outcome']}: {hosts}{why}"


def _format_request_field(field: str, value: Any) -> str:
    if isinstance(value, dict):
        template = "{1} {0}" if field == "resources" else "{0}={1}"  # amounts are shown as "2 VCPU"
        value = [template.format(key, item) for key, item in value.items()]
    return f"{field}: " + (", ".join(map(str, value)) if isinstance(value, list) else str(value))


class ExplainDecision(ShowOne):
    """Explain a decision: hosts rejected by each filter, the best scores, and the verdicts of the claim script.

    With --dry-run, a scheduler worker decides a request given by the options of `gantt boot`, and claims nothing.
    """

    ARGUMENTS = (
        Argument(
            "request_id", nargs="?", metavar="REQUEST_ID", help="Request id, from `gantt boot` or `gantt server show`."
        ),
        Argument("--dry-run", action="store_true", help="Decide a request given by the options below, without claims."),
        Argument("--count", type=int, default=1, metavar="N", help="Number of servers (1)."),
    )

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        boot_options.add_options(parser, required=False)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> CommandOutput:
        decision = self._decision(parsed_args)
        document = decision.document
        samples, verdicts = document.get("samples") or {}, document.get("verdicts") or []
        spec = {key: value for key, value in (document.get("spec") or {}).items() if value not in (None, [], {}, "")}
        rewritten, batch, nova = spec.pop("rewritten", None), document.get("batch"), document.get("nova")
        fields = {
            "request_id": decision.request_id,
            "partition": decision.partition,
            "at": timestamp_cell(document.get("at_ms")),
            "outcome": document.get("outcome"),
            "why": document.get("why"),
            "instances": document.get("instances"),
            "request": fields_cell(spec, _format_request_field),
            **({"prefilters": fields_cell(rewritten, _format_prefilter)} if rewritten else {}),
            "hosts_considered": document.get("hosts"),
            "hosts_refused": counts_cell(document.get("reasons") or {}),
            **({"examples": fields_cell(samples, _format_samples)} if samples else {}),
            "best": lines_cell(document.get("best") or [], _format_best_host),
            "claims": TableCell(verdicts, _format_verdicts(verdicts)),
            **({"nova": TableCell(nova, "\n".join(map(_format_nova_choice, nova["instances"])))} if nova else {}),
            **({"lost_before": lines_cell(document["lost"], _format_claim)} if document.get("lost") else {}),
            **({"candidates": lines_cell(document["candidates"], ", ".join)} if "candidates" in document else {}),
            "driver": document.get("driver"),
            **({"batch": TableCell(batch, _format_batch(batch))} if batch is not None else {}),
            "seed": document.get("seed"),
            "epoch": document.get("epoch"),
            "position": document.get("position"),
            "freshness": _freshness_cell(document),
        }
        return self.dict2columns(provider_names.show_names(self.session, fields))

    def _decision(self, args: argparse.Namespace) -> Any:
        if args.dry_run == (args.request_id is not None):
            raise CommandFailed("Give either a REQUEST_ID, or --dry-run with the options of `gantt boot`")
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


def _freshness_cell(document: Mapping[str, Any]) -> TableCell:
    """Return how far the decision's replica was behind: log entries, and seconds since the last contact."""
    answered, position = document.get("answered_position"), document.get("position")
    behind = None
    if answered is not None and position is not None:
        own = 1 if document.get("outcome") == "selected" else 0  # entry of the decision's own claim
        behind = max(0, answered - position - own)
    seconds = document.get("seconds_since_contact")
    parts = [] if behind is None else [f"{behind} log entries behind when the store answered"]
    parts += [] if seconds is None else [f"last contact with the store {seconds:.1f} s before"]
    return TableCell({"entries_behind": behind, "seconds_since_contact": seconds}, ", ".join(parts) or "-")
