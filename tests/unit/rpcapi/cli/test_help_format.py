# SPDX-License-Identifier: Apache-2.0
"""The help of a parser, which is the same with every Python."""

import argparse
import functools
import textwrap

from rpcapi.cli.help_format import HelpFormatter


def make_parser(width: int) -> argparse.ArgumentParser:
    formatter = functools.partial(HelpFormatter, width=width)
    parser = argparse.ArgumentParser("gantt server list", formatter_class=formatter)
    parser.add_argument("-f", "--format", choices=["csv", "json"], help="The format.")
    order = parser.add_mutually_exclusive_group()
    order.add_argument("--sort-ascending", action="store_true", help="Smallest first.")
    order.add_argument("--sort-descending", action="store_true", help="Largest first.")
    parser.add_argument("servers", nargs="*", help="Names or uuids.")
    return parser


def test_usage_keeps_exclusive_options_together_and_arguments_on_a_line_of_their_own() -> None:
    assert make_parser(80).format_usage() == textwrap.dedent("""\
        usage: gantt server list [-h] [-f {csv,json}]
                                 [--sort-ascending | --sort-descending]
                                 [servers ...]
        """)


def test_short_usage_is_one_line() -> None:
    assert make_parser(120).format_usage() == (
        "usage: gantt server list [-h] [-f {csv,json}] [--sort-ascending | --sort-descending] [servers ...]\n"
    )


def test_value_of_an_option_is_named_once() -> None:
    assert "  -f, --format {csv,json}\n" in make_parser(80).format_help()


def test_usage_of_a_parser_with_a_text_of_its_own_is_that_text() -> None:
    parser = make_parser(80)
    parser.usage = "gantt"
    assert parser.format_usage() == "usage: gantt\n"
