# SPDX-License-Identifier: Apache-2.0
"""Arguments, output and plots of the benchmarks."""

import argparse
import io
import json
from types import SimpleNamespace

import numpy as np
import pytest

from devstack.lab import benchmark, saved_runs
from devstack.lab.rows import ResultRow
from rpcapi.cli.command import CommandFailed
from tests.support import asking


def test_list_keeps_its_order_without_repetitions():
    assert benchmark.list_of(benchmark.positive)("3, 1,3,2") == [3, 1, 2]
    assert benchmark.names_of(("b", "a"), "a letter")("a,b,a") == ["a", "b"]


def test_list_with_a_part_that_is_no_value_is_rejected():
    with pytest.raises(argparse.ArgumentTypeError, match="is not a digit; use 1 or 2"):
        benchmark.names_of(("1", "2"), "a digit")("1,x")


class Toy(benchmark.Benchmark):
    """Measures nothing, and says so."""

    can_plot = True

    def measure(self, args):
        return [ResultRow("a", 2.0, 1.0, figures={"n": 7})]

    def draw(self, figure, result_rows):
        figure.subplots().plot([1, 2])


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(saved_runs, "describe_machine", lambda: {"cores": 2})
    monkeypatch.setattr(saved_runs, "machine_sentence", lambda description: f"{description['cores']} cores")

    def run_with(*argv):
        app = SimpleNamespace(stdout=io.StringIO(), stderr=io.StringIO(), NAME="toy")
        command = Toy(app, None)
        assert command.take_action(command.get_parser("toy").parse_args(argv)) == 0
        return app.stdout.getvalue()

    return run_with


def test_terminal_shows_each_row_when_it_is_measured(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    shown = []

    def measure(self, args):
        for name in ("a", "b"):
            yield ResultRow(name, 1.0)
            shown.append(terminal.getvalue())

    monkeypatch.setattr(Toy, "measure", measure)
    command = Toy(SimpleNamespace(stdout=io.StringIO(), stderr=terminal, NAME="toy"), None)
    command.take_action(command.get_parser("toy").parse_args([]))
    assert shown == ["measured: a\n", "measured: a\nmeasured: b\n"]


def test_exceeded_budget_is_shown_and_no_error(run):
    document = json.loads(run("--json"))
    assert document["machine"] == {"cores": 2}
    assert [(row["name"], row["n"], row["ok"]) for row in document["rows"]] == [("a", 7, False)]
    table = run()
    assert "NO" in table and table.endswith("2 cores\n")


def test_figures_and_machine_of_numpy_are_printed_as_json(run, monkeypatch):
    """`lab.sh rpc --json` crashed on a NumPy bool; every benchmark prints through the same code."""
    monkeypatch.setattr(saved_runs, "describe_machine", lambda: {"cores": np.int64(2)})
    row = ResultRow("a", np.float64(2.0), 1.0, figures={"verified": np.bool_(True), "calls": np.int64(3)})
    monkeypatch.setattr(Toy, "measure", lambda self, args: [row])
    document = json.loads(run("--json"))
    assert document["machine"] == {"cores": 2}
    (printed,) = document["rows"]
    assert (printed["ok"], printed["verified"], printed["calls"]) == (False, True, 3)


def test_unusable_plot_is_reported_before_the_measurement(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(Toy, "measure", lambda self, args: pytest.fail("it measured"))
    with pytest.raises(CommandFailed, match=r"ends in \.png"):
        run("--plot", str(tmp_path / "x.exe"))
    with pytest.raises(CommandFailed, match="folder is missing"):
        run("--plot", str(tmp_path / "none" / "x.png"))


def test_plot_is_written(run, tmp_path):
    pytest.importorskip("matplotlib")
    run("--plot", str(tmp_path / "x.svg"))
    assert "<svg" in (tmp_path / "x.svg").read_text()


def test_help_lists_the_benchmarks():
    code, out, _ = asking.run("help")
    assert code == 0
    for arguments in ("claim", "decide", "moves", "peers", "race", "replay", "shadow"):
        assert f"  {arguments}" in out


@pytest.mark.parametrize(
    ("command", "option", "values", "error"),
    [
        ("decide", "--hosts", ("0", "-4", "999999999"), "is not from 1 to 200000"),
        ("decide", "--hosts", ("many", "1.5", ""), "invalid number value"),
        ("nova", "--bursts", ("0", "50,201"), "is not from 1 to 200"),
        ("nova", "--parts", ("all",), "'all' is not a part"),
        ("nova", "--schedulers", ("x",), "invalid comma_separated value"),
        ("placement", "--sync", ("never",), "'never' is not a moment of a sync"),
        ("race", "--fill", ("0", "1.5", "-1", "nan"), "is not from 1e-06 to 1"),
        ("race", "--fill", ("all",), "invalid number value"),
        ("rpc", "--batch", ("0", "1,0"), "is not from 1"),
        ("rpc", "--batch", ("1,x", "1,,2", ""), "invalid comma_separated value"),
        ("rpc", "--executors", ("threading,asyncio",), "'asyncio' is not an executor; use eventlet or threading"),
        ("rpc", "--loads", ("0", "121"), "is not from 1 to 120"),
        ("rpc", "--seconds", ("nan", "0", "-1", "inf"), "is not from 1e-06 to 600"),
        ("rpc", "--users", ("0", "-1", "100001"), "is not from 1 to 100000"),
        ("sync", "--minutes", ("0", "-1", "nan", "1e9"), "is not from 1e-06 to 1440"),
        ("trees", "--groups", ("1,0",), "is not from 1"),
    ],
)
def test_invalid_options_are_usage_errors(command, option, values, error, capsys):
    for value in values:
        with pytest.raises(SystemExit):
            asking.run(command, f"{option}={value}")
        assert error in capsys.readouterr().err
