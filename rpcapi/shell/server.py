# SPDX-License-Identifier: Apache-2.0
"""``gantt server``: the instances that the conductor records."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rpcapi.shell import progress, waiting
from rpcapi.shell.columns import Lines, Moment, Text
from rpcapi.shell.command import Command, Lister, ShowOne
from rpcapi.shell.faults import CommandFailed

COLUMNS = ("uuid", "flavor", "status", "host", "reason", "request_id")
WIDE = "request_id"  # left out of a table unless it is asked for: a line has its width
STATUSES = ("SCHEDULING", "BUILDING", "ACTIVE", "ERROR", "DELETING", "DELETED")
ENDS_OF_BOOT = ("ACTIVE", "ERROR", "DELETED")
ENDS_OF_DELETE = ("DELETED", "ERROR")


def rows(instances: Iterable[Any], args: argparse.Namespace) -> tuple[Sequence[str], list[Any]]:
    """Return the columns and one row a server, as a list command returns them."""
    wide = args.formatter != "table" or WIDE in args.columns
    columns = [name for name in COLUMNS if wide or name != WIDE]
    return columns, [[Text(getattr(instance, name)) for name in columns] for instance in instances]


class ServerList(Lister):
    """List servers, oldest first."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--host", help="Only those whose present or last attempt is on this host or node.")
        parser.add_argument("--status", help=f"Only those in this status: {', '.join(STATUSES)}.")
        parser.add_argument("--request", metavar="REQUEST_ID", help="Only those of this request.")
        parser.add_argument("--deleted", action="store_true", help="Deleted ones too, as long as they are kept.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        status = None if parsed_args.status is None else _status(parsed_args.status)
        return rows(self._wanted(parsed_args, status), parsed_args)

    def _wanted(self, args: argparse.Namespace, status: str | None) -> Iterator[Any]:
        deleted = args.deleted or status == "DELETED"
        for instance in self.session.pages(self.session.conductor.list_instances, "instances", deleted=deleted):
            host = instance.host or ""
            if (
                (args.host is None or args.host in (host, host.partition("/")[0]))
                and (status is None or instance.status == status)
                and (args.request is None or instance.request_id == args.request)
            ):
                yield instance


def _status(text: str) -> str:
    if text.upper() not in STATUSES:
        raise CommandFailed(f"There is no status {text!r}; known: {', '.join(STATUSES)}")
    return text.upper()


class _Attempts(Lines):
    @staticmethod
    def line(item: Any) -> str:
        return f"{item.get('attempt')}: {item.get('outcome')} on {item.get('host') or 'no host'}: {item.get('reason')}"


class ServerShow(ShowOne):
    """Show a server and the attempts to build it that ended."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("uuid", help="The server.")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        (instance,) = waiting.records(self.session, [parsed_args.uuid])
        shown = {
            "uuid": instance.uuid,
            "flavor": Text(instance.flavor),
            "status": instance.status,
            "host": Text(instance.host),
            "attempt": instance.attempt,
            "reason": Text(instance.reason),
            "ended_attempts": _Attempts(instance.history),
            "request_id": instance.request_id,
            "project": instance.project_id,
            "user": instance.user_id,
            "created": Moment(instance.created_ms),
            "updated": Moment(instance.updated_ms),
        }
        return tuple(shown), tuple(shown.values())


class ServerDelete(Command):
    """Delete servers: stop their guests, then give their claims back."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("uuids", nargs="+", metavar="UUID", help="The servers; all of them, or none.")
        parser.add_argument("--wait", action="store_true", help="Return when they are gone.")
        parser.add_argument("--timeout", type=float, default=120.0, metavar="S", help="Seconds --wait waits (120).")
        progress.add_option(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        named = list(dict.fromkeys(parsed_args.uuids))
        uuids = [each.uuid for each in waiting.records(self.session, named) if each.status != "DELETED"]
        before = len(named) - len(uuids)
        already = f"{before} {'is' if before == 1 else 'are'} deleted already"
        if not uuids:
            self.tell(already)
            return
        self.session.ask(self.session.conductor.delete_instances, uuids)
        done = "deleted" if parsed_args.wait else "to be deleted"
        if parsed_args.wait:
            self._wait(uuids, parsed_args)
        self.tell(f"{len(uuids)} {done}, {already}" if before else f"{len(uuids)} {done}")

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> None:
        with progress.bar(len(uuids), "deleted", self.app.stderr, args) as bar:
            found = waiting.wait_for(self.session, uuids, ENDS_OF_DELETE, args.timeout, bar)
        left = [instance.uuid for instance in found.values() if instance.status != "DELETED"]
        if left:
            raise CommandFailed(f"{len(left)} of {len(uuids)} are not deleted yet: {', '.join(left[:5])}")
