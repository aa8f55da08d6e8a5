# SPDX-License-Identifier: Apache-2.0
"""The format of a command's help, the same with every Python: argparse changes it from version to version."""

import argparse
import re
from collections.abc import Iterable

from cliff import _argparse

_ONE_LINE = 1_000_000  # columns, more than any usage has
# One argument, or the mutually exclusive ones that brackets hold together.
_USAGE_PART = re.compile(r"\(.*?\)+(?=\s|$)|\[.*?\]+(?=\s|$)|\S+")


class HelpFormatter(_argparse.SmartHelpFormatter):
    """Names the value of an option once, after all its names, and keeps exclusive options on one line of the usage."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"

    def _format_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[argparse._MutuallyExclusiveGroup],
        prefix: str | None,
    ) -> str:
        actions = list(actions)
        if usage is not None or not actions:
            return super()._format_usage(usage, actions, groups, prefix)
        options = self._parts([action for action in actions if action.option_strings], groups)
        positionals = self._parts([action for action in actions if not action.option_strings], groups)
        head = f"{'usage: ' if prefix is None else prefix}{self._prog}"
        width = self._width - self._current_indent
        line = " ".join([head, *options, *positionals])
        if len(line) <= width:
            return f"{line}\n\n"
        indent = " " * (len(head) + 1)
        lines = [*_wrapped(options, width - len(indent)), *_wrapped(positionals, width - len(indent))]
        return head + " " + f"\n{indent}".join(lines) + "\n\n"

    def _parts(
        self, actions: Iterable[argparse.Action], groups: Iterable[argparse._MutuallyExclusiveGroup]
    ) -> list[str]:
        width, self._width = self._width, _ONE_LINE
        try:
            line = super()._format_usage(None, actions, groups, "")
        finally:
            self._width = width
        return _USAGE_PART.findall(line.removeprefix(self._prog))


def _wrapped(parts: Iterable[str], width: int) -> list[str]:
    """Return lines of ``parts``, each at most ``width`` long unless it is a single part."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines
