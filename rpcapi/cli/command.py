# SPDX-License-Identifier: Apache-2.0
"""Base classes of commands, and cells of their output."""

import argparse
import datetime
import functools
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from cliff import command, lister, show
from cliff.columns import FormattableColumn

from rpcapi.admin import Session
from rpcapi.admin.argument import Argument
from rpcapi.admin.error_messages import describe_error
from rpcapi.cli import tables

LOG = logging.getLogger("gantt.cli")
NULLS = {"csv": "", "shell": "", "table": "-", "value": ""}  # text for None, by format

# (columns, rows) of a list, or (fields, values) of one object.
CommandOutput = tuple[Sequence[str], Iterable[Any]]


class CommandFailed(Exception):
    """Raised to end a command with a one-line message and exit code 1."""


class SessionCommand:
    """Command of ``gantt`` or ``openstack`` that calls services. ARGUMENTS must repeat those of base classes."""

    ARGUMENTS: ClassVar[Sequence[Argument]] = ()

    app: Any
    exit_code = 0
    auth_required = True  # openstackclient authenticates the user before the command runs

    def get_epilog(self) -> str:
        """Return no epilog: cliff's would read the metadata of all installed packages."""
        return ""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)  # type: ignore[misc]
        for argument in self.ARGUMENTS:
            argument.add_to(parser)
        return parser

    @functools.cached_property
    def session(self) -> Session:
        client_manager = getattr(self.app, "client_manager", None)  # set by openstackclient
        connect = self.app.connect if client_manager is None else client_manager.scheduler
        session: Session = connect()
        return session

    def show_message(self, line: str) -> None:
        """Log a line; ``gantt`` shows it unless -q, ``openstack`` only with -v."""
        LOG.info(line)

    def _load_formatter_plugins(self) -> Any:
        plugins = super()._load_formatter_plugins()  # type: ignore[misc]  # only of commands with output
        plugins["table"].obj = tables.TableFormatter()
        return plugins

    def run(self, parsed_args: argparse.Namespace) -> int:
        try:
            code = super().run(parsed_args)  # type: ignore[misc]
        except (BrokenPipeError, CommandFailed):
            raise
        except Exception as error:  # top level of the program: every error becomes one line
            if self.app.options.debug:
                raise
            raise CommandFailed(describe_error(error)) from error
        finally:
            if "session" in vars(self):
                self.session.close()
        return self.exit_code or code


class Command(SessionCommand, command.Command):
    """Command without output."""


class Lister(SessionCommand, lister.Lister):
    """Command that prints a table of rows."""

    def produce_output(
        self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Iterable[Sequence[Any]]
    ) -> int:
        rows = (fill_nulls(row, parsed_args.formatter) for row in data)
        return super().produce_output(parsed_args, column_names, rows)


class ShowOne(SessionCommand, show.ShowOne):
    """Command that prints the fields of one object."""

    def produce_output(self, parsed_args: argparse.Namespace, column_names: Sequence[str], data: Sequence[Any]) -> int:
        return super().produce_output(parsed_args, column_names, fill_nulls(data, parsed_args.formatter))


def fill_nulls(cells: Sequence[Any], formatter: str) -> Sequence[Any]:
    """Replace None in formats that have no null; cliff would print "None"."""
    null = NULLS.get(formatter)
    return [null if cell is None else cell for cell in cells]


def attributes(record: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


class TableCell(FormattableColumn[Any]):
    """Cell with a value for machine-readable formats and text for tables."""

    def __init__(self, value: Any, text: str) -> None:
        super().__init__(value)
        self._text = text

    def human_readable(self) -> str:
        return self._text

    def machine_readable(self) -> Any:
        return self._value


def machine_value(cell: Any) -> Any:
    return cell.machine_readable() if isinstance(cell, TableCell) else cell


def human_text(cell: Any) -> str:
    return cell.human_readable() if isinstance(cell, TableCell) else str(cell)


def counts_cell(counts: Mapping[str, int] | None) -> TableCell | None:
    """Return a cell with one line per count, largest first."""
    if counts is None:
        return None
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return TableCell(dict(counts), "\n".join(f"{number} {word}" for word, number in ordered))


def lines_cell(items: Iterable[Any], line: Callable[[Any], str] = str) -> TableCell:
    listed = list(items)
    return TableCell(listed, "\n".join(map(line, listed)))


def fields_cell(fields: Mapping[str, Any], line: Callable[[str, Any], str] = "{}: {}".format) -> TableCell:
    return TableCell(dict(fields), "\n".join(line(key, value) for key, value in fields.items()))


def document_cell(document: Mapping[str, Any]) -> TableCell:
    """Return a cell with one line per key. Values are in the syntax of `gantt state set`."""
    return fields_cell(document, lambda key, value: f"{key}: {_json(value)}")


def attempts_cell(attempts: Iterable[Any]) -> TableCell:
    return lines_cell(attempts, _format_attempt)


def timestamp_cell(milliseconds: float | None) -> TableCell | None:
    if not milliseconds:
        return None
    timestamp = datetime.datetime.fromtimestamp(milliseconds / 1000, tz=datetime.UTC)
    return TableCell(timestamp.isoformat(timespec="milliseconds"), timestamp.strftime("%Y-%m-%d %H:%M:%S"))


def offset_cell(milliseconds: float | None) -> TableCell | None:
    return None if milliseconds is None else TableCell(milliseconds / 1000, f"{milliseconds / 1000:+.0f} s")


def _format_attempt(item: Any) -> str:
    return f"{item.get('attempt')}: {item.get('outcome')} on {item.get('host') or 'no host'}: {item.get('reason')}"


def _json(value: Any) -> str:
    """Format a value as JSON; text that is not valid JSON needs no quotes."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except ValueError:
            return value
    return json.dumps(value, ensure_ascii=False)
