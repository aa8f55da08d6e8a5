# SPDX-License-Identifier: Apache-2.0
"""The progress bar."""

import argparse
import io

import pytest

from rpcapi.cli.progress import progress_bar


@pytest.mark.parametrize(("options", "is_shown"), [(["--progress"], True), ([], False)])
def test_progress_bar_is_shown_on_request(cluster, gantt, options, is_shown):
    result = gantt("boot", "--flavor", "m1.tiny", "--count", "2", "--wait", "-f", "json", *options)
    assert ("2/2" in result.err) is is_shown


class Stream(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "formatter", "is_shown"), [(True, "table", True), (True, "json", False), (False, "table", False)]
)
def test_bar_is_shown_for_a_table_at_a_terminal(terminal, formatter, is_shown):
    stream = Stream(terminal)
    with progress_bar(2, "servers", stream, argparse.Namespace(progress=False, formatter=formatter)) as bar:
        bar.update(2)
    assert ("servers" in stream.getvalue()) is is_shown
