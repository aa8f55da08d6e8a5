# SPDX-License-Identifier: Apache-2.0
"""Saved runs of benchmarks, and their history."""

import io
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from devstack.lab import history, main, saved_runs
from devstack.lab.benchmark import Benchmark
from devstack.lab.history import RunHistory
from devstack.lab.rows import ResultRow
from devstack.lab.saved_runs import SavedRun
from rpcapi.cli.command import CommandFailed

START = datetime(2026, 11, 26, 12, tzinfo=UTC)
MACHINE = {"cores": 2, "processor": "Slow", "load_1min": 0.5}


class Toy(Benchmark):
    """Returns the ratio of its option."""

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        parser.add_argument("--ratio", type=float, default=1.5)
        parser.add_argument("--trace", type=Path)
        return parser

    def measure(self, args):
        return [ResultRow("a toy", args.ratio, 2.0, figures={"p50_us": 7.0})]


@pytest.fixture
def run_toy(monkeypatch):
    monkeypatch.setattr(main, "COMMANDS", {"toy": f"{__name__}:Toy"})

    def run(*argv):
        app = main.LabApp(stdout=io.StringIO(), stderr=io.StringIO())
        return app.run(["toy", *argv]), app.stdout.getvalue(), app.stderr.getvalue()

    return run


def a_run(hours=0, ratio=1.0, commit="a" * 40, *, command="claim", options=None, described=None, name="rate"):
    row = ResultRow(name, ratio, 2.0).as_dict()
    return SavedRun(command, options or {}, commit, START + timedelta(hours=hours), described or MACHINE, [row])


def history_of(folder, *argv):
    command = RunHistory(SimpleNamespace(stdout=io.StringIO(), NAME="lab.sh"), None)
    columns, cells = command.take_action(command.get_parser("history").parse_args([str(folder), *argv]))
    return [dict(zip(columns, row, strict=True)) for row in cells]


def test_run_is_saved_with_commit_machine_and_options_and_read_again(run_toy, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_runs, "describe_machine", lambda: MACHINE)
    monkeypatch.setattr(saved_runs, "present_commit", lambda: "b" * 40)
    folder = tmp_path / "new" / "folder"
    assert run_toy("--ratio", "3", "--trace", "/a/day.csv", "--save", str(folder), "--json")[0] == 0
    (run,) = saved_runs.read_all(folder)
    assert (run.command, run.commit, run.machine) == ("toy", "b" * 40, MACHINE)
    assert run.options == {"ratio": 3.0, "trace": "day.csv"}
    assert run.rows == [{"name": "a toy", "ratio": 3.0, "budget": 2.0, "bound": "at most", "ok": False, "p50_us": 7.0}]


def test_each_run_has_a_file_of_its_own(run_toy, tmp_path):
    run_toy("--save", str(tmp_path))
    run_toy("--save", str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 2


def test_folder_that_cannot_be_written_is_reported_before_the_measurement(run_toy, tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(Toy, "measure", lambda self, args: measured.append(args))
    (tmp_path / "file").write_text("")
    code, _, errors = run_toy("--save", str(tmp_path / "file"))
    assert code != 0 and "Runs cannot be saved in" in errors
    assert not measured


def test_result_is_printed_where_the_run_cannot_be_saved(run_toy, tmp_path, monkeypatch):
    def fail(self, folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SavedRun, "save", fail)
    code, output, errors = run_toy("--save", str(tmp_path))
    assert code == 0 and "a toy" in output
    assert "No space left on device" in errors


def test_commit_is_that_of_the_sources_with_a_mark_where_they_were_changed(tmp_path, monkeypatch):
    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        command = ["git", *identity, "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(saved_runs, "PROJECT", tmp_path)
    assert saved_runs.present_commit() == saved_runs.UNKNOWN_COMMIT
    git("init")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-m", "one")
    assert saved_runs.present_commit() == git("rev-parse", "HEAD")
    (tmp_path / "file").write_text("two")
    assert saved_runs.present_commit() == git("rev-parse", "HEAD") + "+"


def test_history_compares_each_ratio_with_the_one_before_it(tmp_path):
    for run in (a_run(2, 1.1, "c" * 40), a_run(0, 2.0), a_run(1, 2.2, "b" * 40 + "+")):
        run.save(tmp_path)
    shown = [(row["Commit"], row["Ratio"], row["Change"], row["Kept"]) for row in history_of(tmp_path)]
    assert shown == [
        ("aaaaaaaa", 2.0, "-", "yes"),
        ("bbbbbbbb+", 2.2, "+10.0%", "NO"),
        ("cccccccc", 1.1, "-50.0%", "yes"),
    ]


@pytest.mark.parametrize("other", [{"options": {"hosts": 9}}, {"described": {**MACHINE, "cores": 8}}])
def test_runs_with_other_options_or_on_another_machine_are_not_compared(tmp_path, other):
    a_run(0, 1.0).save(tmp_path)
    a_run(1, 9.0, **other).save(tmp_path)
    a_run(2, 2.0).save(tmp_path)
    assert [row["Change"] for row in history_of(tmp_path)] == ["-", "-", "+100.0%"]


def test_history_shows_what_is_named(tmp_path):
    for run in (a_run(), a_run(1, name="latency"), a_run(2, command="rpc")):
        run.save(tmp_path)
    assert [(row["Benchmark"], row["Question"]) for row in history_of(tmp_path)] == [
        ("claim", "latency"),
        ("claim", "rate"),
        ("rpc", "rate"),
    ]
    assert [row["Question"] for row in history_of(tmp_path, "--benchmark", "claim", "--question", "rat")] == ["rate"]
    with pytest.raises(CommandFailed, match="has such a row"):
        history_of(tmp_path, "--question", "none")


@pytest.mark.parametrize(
    "text", ["no JSON", "[]", "{}", json.dumps({"schema": 1, "rows": 3}), '{"schema": 1, "started": "2026-11-26"}']
)
def test_file_that_is_no_saved_run_is_named(tmp_path, text):
    a_run().save(tmp_path)
    (tmp_path / "other.json").write_text(text)
    with pytest.raises(CommandFailed, match=r"other\.json is no run that lab.sh saved"):
        history_of(tmp_path)


def test_run_of_a_newer_schema_is_refused(tmp_path):
    path = a_run().save(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    with pytest.raises(CommandFailed, match="has schema 2"):
        history_of(tmp_path)


@pytest.mark.parametrize("folder", ["empty", "missing"])
def test_folder_without_runs_is_reported(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CommandFailed, match="No runs are saved in"):
        history_of(tmp_path / folder)


def test_history_is_plotted(tmp_path):
    pytest.importorskip("matplotlib")
    for run in (a_run(0, 2.0), a_run(1, 1.0, "b" * 40)):
        run.save(tmp_path)
    history_of(tmp_path, "--plot", str(tmp_path / "plot.svg"))
    assert "<svg" in (tmp_path / "plot.svg").read_text()


def test_plot_of_too_many_questions_is_refused(tmp_path):
    pytest.importorskip("matplotlib")
    for number in range(history.MAX_LINES + 1):
        a_run(number, name=f"question {number}").save(tmp_path)
    with pytest.raises(CommandFailed, match="name fewer with --benchmark or --question"):
        history_of(tmp_path, "--plot", str(tmp_path / "plot.svg"))


def test_command_prints_a_table(tmp_path, capsys):
    a_run().save(tmp_path)
    assert main.LabApp().run(["history", str(tmp_path), "-f", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["Question"], row["Budget"]) == ("rate", "at most 2")


def test_description_is_in_one_sentence():
    description = saved_runs.describe_machine()
    assert description["cores"] == len(os.sched_getaffinity(0))
    assert description["memory_gib"] > 0
    text = saved_runs.machine_sentence(description)
    assert all(str(value) in text for value in description.values())
    assert "\n" not in text
