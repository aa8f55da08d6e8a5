# SPDX-License-Identifier: Apache-2.0
"""``gantt boot``: ask for servers of one flavor, and see what becomes of them."""

import argparse
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from rpcapi.shell import boot_options, progress, server, waiting
from rpcapi.shell.command import Lister


class Boot(Lister):
    """Boot servers; one request, whose id `gantt explain` takes."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--count", type=int, default=1, metavar="N", help="How many (1): all are placed, or none.")
        parser.add_argument("--wait", action="store_true", help="Return when each is ACTIVE or in ERROR.")
        parser.add_argument("--timeout", type=float, default=300.0, metavar="S", help="Seconds --wait waits (300).")
        progress.add_option(parser)
        boot_options.add(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        from rpcapi.model import request  # noqa: PLC0415 - lazy: brings the versioned objects

        session = self.session
        request.check_count(parsed_args.count, session.conf.rpc.max_instances)
        spec = boot_options.spec(session, parsed_args)
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
