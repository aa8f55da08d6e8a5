# SPDX-License-Identifier: Apache-2.0
"""``gantt boot``: ask for servers of one flavor, and see what becomes of them."""

import argparse
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell import progress, server, waiting
from rpcapi.shell.command import Lister
from rpcapi.shell.faults import CommandFailed


class Boot(Lister):
    """Boot servers; one request, whose id `gantt explain` takes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--flavor", required=True, help="Their flavor; see `gantt flavor list`.")
        parser.add_argument("--count", type=int, default=1, metavar="N", help="How many (1): all are placed, or none.")
        parser.add_argument("--wait", action="store_true", help="Return when each is ACTIVE or in ERROR.")
        parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="Seconds --wait waits (300).")
        progress.add_option(parser)
        _add_placement(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        from rpcapi.model import flavors, request  # noqa: PLC0415 - lazy: brings the versioned objects

        session = self.session
        request.check_count(parsed_args.count, session.conf.rpc.max_instances)
        spec = flavors.find(session.flavors, parsed_args.flavor).request(**_placement(parsed_args))
        uuids = [str(uuid.uuid4()) for _ in range(parsed_args.count)]
        build = session.conductor.build_instances
        # Told first: whatever becomes of the call, this id leads to it.
        self.tell(f"Request {session.ctxt.request_id}")
        session.ask(build, spec, uuids)
        instances = self._wait(uuids, parsed_args) if parsed_args.wait else waiting.records(session, uuids)
        return server.rows(instances, parsed_args)

    def _wait(self, uuids: Sequence[str], args: argparse.Namespace) -> list[Any]:
        with progress.bar(len(uuids), "booted", self.app.stderr, args) as bar:
            found = waiting.wait_for(self.session, uuids, server.ENDS_OF_BOOT, args.timeout, bar)
        instances = [found[each] for each in uuids if each in found]
        active = sum(instance.status == "ACTIVE" for instance in instances)
        if active < len(uuids):
            self.exit_code = 1
            self.tell(f"{active} of {len(uuids)} are ACTIVE; `gantt explain {self.session.ctxt.request_id}` says why")
        return instances


def _add_placement(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where they may go")
    add = group.add_argument
    add("--az", metavar="ZONE", help="Availability zone.")
    add("--trait", action="append", default=[], metavar="T|!T", help="A trait that hosts must have, or (!) lack.")
    add("--hint", action="append", default=[], metavar="K=V", help="A scheduler hint; a repeated key makes a list.")
    add("--host", action="append", default=[], metavar="NAME", help="Only this host, or node as host/node; repeatable.")
    add("--not-host", action="append", default=[], metavar="NAME", help="Not this host or node; repeatable.")
    add("--group", metavar="ID", help="Server group, which the claims of all its servers obey.")
    add("--group-policy", metavar="POLICY", help="Its policy: affinity (all on one node) or anti-affinity.")
    add("--group-max-per-host", type=int, default=1, metavar="N", help="How many of it a node may hold (1).")


def _placement(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of the request spec that the options give."""
    return {
        "availability_zone": args.az,
        "required_traits": [name for name in args.trait if not name.startswith("!")],
        "forbidden_traits": [name.removeprefix("!") for name in args.trait if name.startswith("!")],
        "hints": _hints(args.hint),
        "force_hosts": args.host,
        "ignore_hosts": args.not_host,
        "group_id": args.group,
        "group_policy": args.group_policy,
        "group_max_per_host": args.group_max_per_host,
    }


def _hints(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, list[str]] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise CommandFailed(f"--hint takes KEY=VALUE, not {pair!r}")
        found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}
