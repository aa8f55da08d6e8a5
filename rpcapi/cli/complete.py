# SPDX-License-Identifier: Apache-2.0
"""``gantt complete``: scripts for the completion of command lines."""

import argparse

from rpcapi.cli import static_output
from rpcapi.cli.command import Command


class PrintCompletion(Command):
    """Print a script that completes gantt's commands and options in bash or zsh."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "shell", choices=list(static_output.SCRIPTS), help="Load it with: source <(gantt complete SHELL)."
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        self.app.stdout.write(static_output.read(static_output.SCRIPTS[parsed_args.shell]))
