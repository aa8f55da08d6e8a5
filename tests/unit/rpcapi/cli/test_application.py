# SPDX-License-Identifier: Apache-2.0
"""The base of the commands: logging and the prompt."""

import io
import logging
import sys
import warnings
from types import SimpleNamespace

import pytest

from rpcapi.cli import application

LOG = logging.getLogger("gantt.test_application")


class Toy(application.Application):
    NAME = "toy"
    LOG = LOG
    LEVELS = {0: logging.ERROR, 1: logging.WARNING, 2: logging.INFO}  # noqa: RUF012 - as the commands have it


@pytest.fixture
def toy():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield Toy("a toy", {"sing": "no.such.module:Sing"}, stderr=io.StringIO())
    root.handlers = handlers
    root.setLevel(level)
    LOG.setLevel(logging.NOTSET)


@pytest.mark.parametrize(
    ("verbose", "own", "libraries"),
    [
        (0, logging.ERROR, logging.CRITICAL),
        (1, logging.WARNING, logging.CRITICAL),
        (2, logging.INFO, logging.WARNING),
        (3, logging.DEBUG, logging.DEBUG),
    ],
)
def test_own_lines_are_logged_earlier_than_those_of_libraries(toy, verbose, own, libraries):
    toy.options = SimpleNamespace(verbose_level=verbose)
    toy.configure_logging()
    assert (LOG.level, logging.getLogger().level) == (own, libraries)
    LOG.critical("an own line")
    assert toy.stderr.getvalue() == "an own line\n"


def test_logging_configured_twice_logs_each_line_once(toy):
    toy.options = SimpleNamespace(verbose_level=1)
    for _ in range(2):
        toy.configure_logging()
    LOG.warning("once")
    assert toy.stderr.getvalue() == "once\n"


def test_module_of_a_command_is_imported_when_it_is_used(toy):
    entry_point = toy.command_manager.commands["sing"]
    with pytest.raises(ModuleNotFoundError, match="no"):
        entry_point.load()


def test_program_without_a_command_shows_its_help(toy, monkeypatch):
    calls = []
    monkeypatch.setattr(toy, "run_subcommand", calls.append)
    toy.interact()
    assert calls == [["help"]]


@pytest.mark.parametrize(("options", "count"), [([], 0), (["default"], 1)])
def test_warnings_are_shown_only_with_python_options(monkeypatch, options, count):
    monkeypatch.setattr(sys, "warnoptions", options)
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always")
        application.hush_libraries()
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
    assert len(records) == count
