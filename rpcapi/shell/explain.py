# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: why a request was answered as it was, or what it would be answered now."""

import argparse
import collections
from collections.abc import Iterable, Sequence
from typing import Any

from cliff import columns

from rpcapi.shell import boot_options
from rpcapi.shell.columns import Counts, Fields, Lines, Moment, Text
from rpcapi.shell.command import ShowOne
from rpcapi.shell.faults import CommandFailed


class _Best(Lines):
    @staticmethod
    def line(item: Any) -> str:
        weights = ", ".join(f"{weigher} {value:+.3f}" for weigher, value in (item.get("weights") or {}).items())
        return f"{item['name']}: {item['score']:.3f}" + (f" ({weights})" if weights else "")


class _Verdicts(Lines):
    SHOWN = 20

    def human_readable(self) -> str:
        shown = "\n".join(self.line(item) for item in self._value[: self.SHOWN])
        rest = collections.Counter(item["answer"] for item in self._value[self.SHOWN :])
        more = "".join(f"\nand {count} more {answer}" for answer, count in rest.most_common())
        return shown + more

    @staticmethod
    def line(item: Any) -> str:
        tried = ", ".join(f"{name} {verdict}" for name, verdict in item.get("tried") or ())
        outcome = item["answer"] + (f" on {item['host']}" if item.get("host") else "")
        return f"{item['consumer']}: {outcome}" + (f" (tried {tried})" if tried else "")


class _Samples(Fields):
    """Some of the hosts that fell to each reason."""

    def human_readable(self) -> str:
        return "\n".join(f"{reason}: {', '.join(names)}" for reason, names in self._value.items())


class _Prefilters(Fields):
    """What each prefilter added to the request."""

    def human_readable(self) -> str:
        told = [(name, *each) for name, fields in self._value.items() for each in fields.items()]
        return "\n".join(f"{name}: {field} {_names(added)}" for name, field, added in told)


class _Freshness(Fields):
    """How far the worker's copy of the hosts was behind the store."""

    def human_readable(self) -> str:
        entries, seconds = self._value["entries_behind"], self._value["heard_s"]
        told = [] if entries is None else [f"{entries} log entries behind when the store answered"]
        told += [] if seconds is None else [f"the store heard of {seconds:.1f} s before"]
        return ", ".join(told) or "-"


class _Batch(Fields):
    """The batch that the request was placed in, where it was placed together with others."""

    def human_readable(self) -> str:
        told = self._value
        most = "the most that can be" if told["is_most"] else "the most that was found in time"
        return (
            f"{told['served']} of {told['calls']} requests served, {most}, to {told['objective']}; "
            f"{told['served_one_by_one']} one by one; {told['ms']:.1f} ms"
        )


class _Tried(Lines):
    @staticmethod
    def line(item: Any) -> str:
        name, verdict = item
        return f"{name} {verdict}"


class _Candidates(Lines):
    @staticmethod
    def line(item: Any) -> str:
        return ", ".join(item)


class _Asked(Fields):
    def human_readable(self) -> str:
        return "\n".join(f"{key}: {self._text(key, value)}" for key, value in self._value.items())

    @staticmethod
    def _text(what: str, value: Any) -> str:
        if isinstance(value, dict):
            told = "{1} {0}" if what == "resources" else "{0}={1}"  # amounts are read as "2 VCPU", all else is not
            return ", ".join(told.format(key, each) for key, each in value.items())
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


class _Chunk(columns.FormattableColumn):
    """Which part of a large request the record is about, as (number from 1, how many), or None where it is not told."""

    def human_readable(self) -> str:
        if self._value is None:
            return "-"
        number, chunks = self._value
        return f"{number} of {chunks}" + ("; the others are not kept" if chunks > 1 else "")

    def machine_readable(self) -> Any:
        return None if self._value is None else dict(zip(("number", "of"), self._value, strict=True))


class Explain(ShowOne):
    """Explain a decision: which hosts fell to which filter, the best scores, what the claim script answered.

    With --dry-run a decision that nobody makes: what the options ask for, as `gantt boot` takes them, is decided on
    what a worker knows now, and nothing is claimed.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "request_id", nargs="?", metavar="REQUEST_ID", help="As `gantt boot` and `gantt server show` tell it."
        )
        parser.add_argument("--dry-run", action="store_true", help="Decide what the options below ask for.")
        parser.add_argument("--count", type=int, default=1, metavar="N", help="How many (1).")
        boot_options.add(parser, required=False)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        decision = self._decision(parsed_args)
        document = decision.document
        samples = document.get("samples") or {}
        spec = dict(document.get("spec") or {})
        rewritten = spec.pop("rewritten", None)
        shown = {
            "request_id": decision.request_id,
            "partition": decision.partition,
            "at": Moment(document.get("at_ms")),
            "outcome": document.get("outcome"),
            "why": Text(document.get("why")),
            "instances": document.get("instances"),
            "chunk": _Chunk(_chunk(document)),
            "asked": _Asked(_asked(spec)),
            **({"prefilters": _Prefilters(rewritten)} if rewritten else {}),
            "hosts_looked_at": document.get("hosts"),
            "hosts_refused": Counts(document.get("reasons") or {}),
            **({"such_as": _Samples(samples)} if samples else {}),
            "best": _Best(document.get("best") or []),
            "claims": _Verdicts(document.get("verdicts") or []),
            **({"lost_before": _Tried(document["lost"])} if document.get("lost") else {}),
            **({"candidates": _Candidates(document["candidates"])} if "candidates" in document else {}),
            "driver": Text(document.get("driver")),
            **({"batch": _Batch(document["batch"])} if "batch" in document else {}),
            "seed": Text(document.get("seed")),
            "epoch": document.get("epoch"),
            "position": document.get("position"),
            "freshness": _Freshness(_freshness(document)),
        }
        return tuple(shown), tuple(shown.values())

    def _decision(self, args: argparse.Namespace) -> Any:
        if args.dry_run == (args.request_id is not None):
            raise CommandFailed("Give a REQUEST_ID, or --dry-run with the options of `gantt boot`")
        if not args.dry_run:
            return self.session.ask(self.session.scheduler.explain, args.request_id)
        if args.flavor is None:
            raise CommandFailed("--dry-run needs --flavor; see `gantt flavor list`")
        from rpcapi.model import request  # noqa: PLC0415 - lazy: brings the versioned objects

        request.check_count(args.count, self.session.conf.rpc.max_instances)
        spec = boot_options.spec(self.session, args)
        return self.session.ask(self.session.scheduler.dry_run, spec, args.count)


def _names(added: Iterable[Any]) -> str:
    return ", ".join(" or ".join(each) if isinstance(each, list) else str(each) for each in added)


def _freshness(document: dict[str, Any]) -> dict[str, Any]:
    """Return how many entries the log had that the decision did not know, and how long ago the store was heard of."""
    answered, position = document.get("answered_position"), document.get("position")
    behind = None
    if answered is not None and position is not None:
        own = 1 if document.get("outcome") == "selected" else 0  # the claim's own entry
        behind = max(0, answered - position - own)
    return {"entries_behind": behind, "heard_s": document.get("heard_s")}


def _chunk(document: dict[str, Any]) -> tuple[int, int] | None:
    if "chunk" not in document or "chunks" not in document:
        return None
    return document["chunk"] + 1, document["chunks"]


def _asked(spec: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for."""
    return {key: value for key, value in spec.items() if value not in (None, [], {}, "")}
