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


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("200000", 200_000)])
def test_count_is_parsed(text, number):
    assert benchmark.host_count(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", ""])
def test_text_that_is_no_count_is_rejected(text):
    with pytest.raises(argparse.ArgumentTypeError, match="not a whole number of at least 1"):
        benchmark.positive(text)


def test_more_hosts_than_fit_into_memory_are_rejected():
    with pytest.raises(argparse.ArgumentTypeError, match="200001 hosts are more than the maximum of 200000"):
        benchmark.host_count("200001")


@pytest.mark.parametrize(
    ("text", "accepted"), [("1", True), ("0.001", True), ("0", False), ("1.01", False), ("x", False)]
)
def test_share_is_above_zero_and_up_to_one(text, accepted):
    if accepted:
        assert benchmark.share(text) == float(text)
    else:
        with pytest.raises(argparse.ArgumentTypeError, match="is not a share above 0 and up to 1"):
            benchmark.share(text)


def test_list_keeps_its_order_without_repetitions():
    assert benchmark.list_of(benchmark.positive)("3, 1,3,2") == [3, 1, 2]
    assert benchmark.names_of(("b", "a"), "a letter")("a,b,a") == ["a", "b"]


@pytest.mark.parametrize("text", ["", "1,,2", "1,x"])
def test_list_with_a_part_that_is_no_value_is_rejected(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number of at least 1"):
        benchmark.list_of(benchmark.positive)(text)
    with pytest.raises(argparse.ArgumentTypeError, match="is not a digit; use 1 or 2"):
        benchmark.names_of(("1", "2"), "a digit")(text)


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


COUNT, SHARE = "is not a whole number of at least 1", "is not a share above 0"
EXECUTORS = "eventlet or threading or metrics"


@pytest.mark.parametrize(
    ("command", "option", "values", "error"),
    [
        ("decide", "--hosts", ("0", "-4", "many"), COUNT),
        ("decide", "--hosts", ("999999999",), "more than the maximum of 200000"),
        ("nova", "--bursts", ("0",), COUNT),
        ("nova", "--bursts", ("201",), "more than the maximum of 200"),
        ("nova", "--parts", ("all",), "'all' is not a part"),
        ("nova", "--schedulers", ("x",), COUNT),
        ("placement", "--sync", ("never",), "'never' is not a moment of a sync"),
        ("race", "--fill", ("0", "1.5", "-1", "all"), SHARE),
        ("rpc", "--batch", ("0", "1,x", ""), COUNT),
        (
            "rpc",
            "--executors",
            ("threading,asyncio",),
            "'asyncio' is not an executor; use eventlet or threading or metrics",
        ),
        ("rpc", "--loads", ("0", "half"), COUNT),
        ("rpc", "--loads", ("121",), "more than the maximum of 120"),
        ("rpc", "--seconds", ("nan", "0", "-1", "inf", "soon"), "is not a number of seconds above 0 and up to 600"),
        ("rpc", "--users", ("0", "-1", "many"), COUNT),
        ("rpc", "--users", ("100001",), "more than the maximum of 100000"),
        ("sync", "--minutes", ("0", "-1", "nan", "long", "1e9"), "is not a number of minutes above 0"),
        ("trees", "--groups", ("1,0",), COUNT),
    ],
)
def test_invalid_options_are_usage_errors(command, option, values, error, capsys):
    for value in values:
        with pytest.raises(SystemExit):
            asking.run(command, f"{option}={value}")
        assert error in capsys.readouterr().err
