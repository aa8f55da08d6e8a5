# SPDX-License-Identifier: Apache-2.0
"""``gantt-nova-config``: translates a nova.conf to a configuration of gantt-scheduler."""

import argparse
import sys
from collections.abc import Sequence

from rpcapi import errors
from scheduler_svc.conf import from_nova

REFUSED = 1  # exit status: an option that changes placements was not translated
INVALID = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Print the translated configuration, and other options on standard error; return 0, REFUSED or INVALID."""
    options = parser().parse_args(argv)
    try:
        translation = from_nova.translate(from_nova.read(options.files))
    except errors.BadConfiguration as error:
        print(error.sentence, file=sys.stderr)
        return INVALID
    print(render(translation))
    for note in translation.notes:
        print(f"not needed: {note}", file=sys.stderr)
    for refusal in translation.refused:
        print(f"NOT CARRIED OVER, placements will differ: {refusal}", file=sys.stderr)
    return REFUSED if translation.refused else 0


def render(translation: from_nova.Translation) -> str:
    lines = [
        "# Settings of nova-scheduler for gantt-scheduler. Add the addresses of Nova's RabbitMQ and databases to",
        "# [nova]: see docs/nova.md.",
    ]
    for section, settings in sorted(translation.sections.items()):
        lines += ["", f"[{section}]", *(f"{option} = {value}" for option, value in settings.items())]
    return "\n".join(lines)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="gantt-nova-config",
        description="Translate nova-scheduler's options in nova.conf to a configuration of gantt-scheduler. Standard "
        "error lists options that are not carried over; exits 1 if placements would differ.",
    )
    result.add_argument("files", nargs="+", metavar="FILE", help="nova.conf, and files that override it, in order")
    return result
