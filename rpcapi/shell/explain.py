# SPDX-License-Identifier: Apache-2.0
"""``gantt explain``: why a request was answered as it was, from the decision record."""

import argparse
import collections
from collections.abc import Iterable, Sequence
from typing import Any

from cliff import columns

from rpcapi.shell.columns import Counts, Fields, Lines, Moment, Text
from rpcapi.shell.command import ShowOne


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
    """Explain a decision: which hosts fell to which filter, the best scores, what the claim script answered."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("request_id", metavar="REQUEST_ID", help="As `gantt boot` and `gantt server show` tell it.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        decision = self.session.ask(self.session.scheduler.explain, parsed_args.request_id)
        document = decision.document
        shown = {
            "request_id": decision.request_id,
            "partition": decision.partition,
            "at": Moment(document.get("at_ms")),
            "outcome": document.get("outcome"),
            "why": Text(document.get("why")),
            "instances": document.get("instances"),
            "chunk": _Chunk(_chunk(document)),
            "asked": _Asked(_asked(document.get("spec") or {})),
            "hosts_looked_at": document.get("hosts"),
            "hosts_refused": Counts(document.get("reasons") or {}),
            "best": _Best(document.get("best") or []),
            "claims": _Verdicts(document.get("verdicts") or []),
            "driver": Text(document.get("driver")),
            "seed": Text(document.get("seed")),
            "epoch": document.get("epoch"),
            "position": document.get("position"),
        }
        return tuple(shown), tuple(shown.values())


def _chunk(document: dict[str, Any]) -> tuple[int, int] | None:
    if "chunk" not in document or "chunks" not in document:
        return None
    return document["chunk"] + 1, document["chunks"]


def _asked(spec: dict[str, Any]) -> dict[str, Any]:
    """Leave out what was not asked for."""
    return {key: value for key, value in spec.items() if value not in (None, [], {}, "")}
