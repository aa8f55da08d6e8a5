# SPDX-License-Identifier: Apache-2.0
"""``gantt-placement recount``: the repair of the sums by project."""

import argparse
import contextlib
import sys
from collections.abc import Sequence

from rpcapi import errors
from rpcapi.daemon.process import EX_CONFIG
from scheduler_svc.cmd.placement_store import EX_UNAVAILABLE, open_store

COMMAND = "recount"


def main(argv: Sequence[str]) -> int:
    """Sum up what consumers hold; return the exit status. Exits with 2 on invalid arguments."""
    options = parser().parse_args(argv)
    try:
        with contextlib.closing(open_store(options.config_file)) as store:
            number = store.recount_usages()
    except errors.BadConfiguration as error:
        return _fail(error, EX_CONFIG)
    except errors.Unavailable as error:
        return _fail(error, EX_UNAVAILABLE)
    print(f"Partition {store.partition}: claims summed up: {number}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command = argparse.ArgumentParser(
        prog=f"gantt-placement {COMMAND}",
        description="Sum up what all consumers hold, by project, user and consumer type, as GET /usages shows it. Each "
        "claim keeps these sums up to date, but for those of a scheduler of an older version: run it once where "
        "`gantt claim verify` shows wrong tallies. The partition serves nothing else meanwhile.",
        epilog="Exit status: 0 the sums are right; 69 the store does not answer; 78 the configuration is wrong.",
    )
    command.add_argument(
        "--config-file", action="append", default=[], help="gantt's configuration; by default as for gantt-placement"
    )
    return command


def _fail(error: errors.GanttError, status: int) -> int:
    print(f"gantt-placement {COMMAND}: {error}", file=sys.stderr)
    return status
