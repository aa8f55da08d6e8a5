# SPDX-License-Identifier: Apache-2.0
"""The console script: its options, and errors of the configuration."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.cmd import scheduler


def run(*arguments):
    """Run the script in its own process."""
    command = [sys.executable, "-m", "scheduler_svc.cmd.scheduler", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        check=False,
    )


def test_number_of_workers_follows_configuration(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("workers", 7, group="scheduler")
    assert scheduler.workers(conf) == 7


def test_invalid_value_prints_one_line_and_sets_exit_status(tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text("[scheduler]\nclaim_ttl = soon\n")
    ended = run("--config-file", str(path))
    assert ended.returncode == 78
    assert ended.stderr.count("\n") == 1
    assert "gantt-scheduler" in ended.stderr and "claim_ttl" in ended.stderr


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("[filter_scheduler]\nenabled_filters = RamFilter", "unknown filter RamFilter"),
        ("[filter_scheduler]\nenabled_weighers = Heavy", "unknown weigher Heavy"),
        ("[scheduler]\ndriver = best", "no entry point 'best' is installed"),
        ("[store]\nurl = banana", "[store] url must begin with one of redis://"),
        ("[store]\nurl = unix:///nope?x=y", "[store] url has an unknown option"),
    ],
)
def test_bad_configuration_prints_one_line_and_sets_exit_status(tmp_path, option, why):
    path = tmp_path / "bad.conf"
    path.write_text(f"[DEFAULT]\ntransport_url = fake://\n{option}\n")
    ended = run("--config-file", str(path))
    assert ended.returncode == 78
    assert ended.stderr.count("\n") == 1
    assert why in ended.stderr


def test_master_process_imports_no_heavy_libraries():
    script = (
        "import sys; from scheduler_svc.cmd import scheduler; "
        "print({'numpy', 'redis', 'oslo_messaging', 'eventlet'} & set(sys.modules))"
    )
    names = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert names.stdout == "set()\n"
