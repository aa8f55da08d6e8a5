# SPDX-License-Identifier: Apache-2.0
"""Console script gantt-placement-import: copies the records of another Placement to gantt, or back."""

import argparse
import contextlib
import functools
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from rpcapi import errors
from rpcapi.daemon import configuration
from rpcapi.daemon.process import EX_CONFIG
from scheduler_svc.composition.stores import open_configured
from scheduler_svc.conf import placement_service as placement_conf
from scheduler_svc.placement.migration.export import export
from scheduler_svc.placement.migration.failures import CopyRefused, PlacementUnavailable
from scheduler_svc.placement.migration.report import Report
from scheduler_svc.placement.migration.sources import open_database, open_source
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.placement.migration.store_writer import StoreWriter
from scheduler_svc.placement.migration.switchover import Switchover
from scheduler_svc.store.interface import Store

PROG = "gantt-placement-import"
SOURCE_VARIABLE = "GANTT_PLACEMENT_SOURCE"
EX_DIFFERENT = 1  # exit status: some records differ, or could not be copied
EX_UNAVAILABLE = 69
EX_INTERRUPTED = 130

EPILOG = f"""
SOURCE is a placement.conf, whose [placement_database] connection is used, the URL of a database (mysql, postgresql,
sqlite), or the URL of Placement's HTTP API (http, https; with OS_TOKEN, or OS_AUTH_URL, OS_USERNAME, OS_PASSWORD and
so on). {SOURCE_VARIABLE} may have it instead, which keeps a password out of the list of processes.
An interrupted command continues when it is repeated.

Exit status: 0 all is copied, or equal; 1 something was not copied, or differs; 69 a server does not answer; 78 the
configuration is wrong; 130 interrupted.
"""


def main(argv: Sequence[str] | None = None) -> int:
    command = parser()
    arguments = command.parse_args(argv)
    for is_wrong, text in _mistakes(arguments):
        if is_wrong:
            command.error(text)
    try:
        store = _open_store(arguments.config_file)
    except errors.BadConfiguration as error:
        return _fail(str(error), EX_CONFIG)
    try:
        with contextlib.closing(store), contextlib.closing(Report(arguments.report)) as report:
            return 0 if _task(arguments, store, report)() else EX_DIFFERENT
    except PlacementUnavailable as error:
        return _fail(f"the other Placement: {error}", EX_UNAVAILABLE)
    except errors.Unavailable as error:
        return _fail(f"{error}; repeat the command to continue", EX_UNAVAILABLE)
    except (errors.StoreFull, CopyRefused) as error:
        return _fail(str(error), EX_DIFFERENT)
    except KeyboardInterrupt:
        return _fail("interrupted; repeat the command to continue", EX_INTERRUPTED)


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(
        PROG,
        description="Copy all records of another Placement to gantt.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("source", nargs="?", default=os.environ.get(SOURCE_VARIABLE), help="the other Placement")
    command.add_argument(
        "--config-file", action="append", default=[], help="gantt's configuration. Default: as for gantt-placement"
    )
    command.add_argument("--dry-run", action="store_true", help="list what would be written, write nothing")
    task = command.add_mutually_exclusive_group()
    task.add_argument(
        "--export", action="store_true", help="copy in the other direction: all of gantt's records to SOURCE"
    )
    task.add_argument("--verify", action="store_true", help="list differences, write nothing")
    task.add_argument("--follow", action="store_true", help="repeat for changes until interrupted, then once more")
    command.add_argument("--until-equal", action="store_true", help="with --follow: end once nothing is left to write")
    command.add_argument(
        "--overwrite",
        action="store_true",
        help="also replace and delete records written to gantt by its clients or a shadow, so that it equals SOURCE",
    )
    command.add_argument(
        "--beside-clients",
        action="store_true",
        help="import although clients wrote to gantt: their records stay, but consumers that they ended come back",
    )
    command.add_argument("--interval", type=float, default=5.0, help="with --follow: seconds between passes")
    command.add_argument("--report", type=Path, help="file for the full report; the terminal shows shortened lists")
    return command


def _mistakes(arguments: argparse.Namespace) -> Sequence[tuple[bool, str]]:
    """Return (is wrong, message) for each rule about arguments that exclude or need each other."""
    is_no_copy = arguments.verify or arguments.export
    return (
        (not arguments.source, f"SOURCE is missing, as an argument and as {SOURCE_VARIABLE}"),
        (arguments.until_equal and not arguments.follow, "--until-equal needs --follow"),
        (arguments.overwrite and is_no_copy, "--overwrite needs a copy to gantt"),
        (
            arguments.beside_clients and (arguments.overwrite or is_no_copy),
            "--beside-clients needs a copy to gantt, and excludes --overwrite",
        ),
        (
            arguments.dry_run and (arguments.verify or arguments.follow),
            "--dry-run rehearses one copy: it excludes --verify and --follow",
        ),
    )


def _open_store(config_files: Sequence[str]) -> Store:
    """Open gantt-placement's store, as configured in these files or its default ones. Raises BadConfiguration."""
    argv = [part for name in config_files for part in ("--config-file", name)]
    conf = configuration.load("gantt-placement", [placement_conf.register_opts], argv)
    placement_conf.check(conf)
    return open_configured(conf, conf.rpc.partition)


def _task(arguments: argparse.Namespace, store: Store, report: Report) -> Callable[[], bool]:
    if arguments.export:
        database = open_database(arguments.source)
        return functools.partial(export, StoreReader(store), database, report, dry_run=arguments.dry_run)
    source = open_source(arguments.source, report.progress)
    target = StoreReader(store, overwrite=arguments.overwrite)
    taken_names = target.reported_names() if arguments.dry_run else ()
    writer = StoreWriter(store, overwrite=arguments.overwrite, dry_run=arguments.dry_run, taken_names=taken_names)
    switchover = Switchover(source.read, target.read, writer, report, beside_clients=arguments.beside_clients)
    if arguments.verify:
        return switchover.verify
    if not arguments.follow:
        return switchover.copy
    return functools.partial(switchover.follow, _stopping(), arguments.interval, until_equal=arguments.until_equal)


def _stopping() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; the next SIGINT raises KeyboardInterrupt."""
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return stopping


def _fail(text: str, status: int) -> int:
    print(f"{PROG}: {text}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
