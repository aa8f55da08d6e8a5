# SPDX-License-Identifier: Apache-2.0
"""The console script: what it hands to the frame, and what a bad configuration gets."""

import os
import subprocess
import sys
from pathlib import Path

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.cmd import scheduler


def run(*arguments):
    """Run the script in a process of its own."""
    command = [sys.executable, "-m", "scheduler_svc.cmd.scheduler", *arguments]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        check=False,
    )


def test_the_workers_are_as_many_as_configured(conf):
    scheduler_conf.register_opts(conf)
    conf.set_override("workers", 7, group="scheduler")
    assert scheduler.workers(conf) == 7


def test_a_bad_value_is_one_line_and_a_status(tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text("[scheduler]\nclaim_ttl = soon\n")
    ended = run("--config-file", str(path))
    assert ended.returncode == 78
    assert ended.stderr.count("\n") == 1
    assert "gantt-scheduler" in ended.stderr and "claim_ttl" in ended.stderr


def test_an_unknown_filter_ends_the_daemon_with_its_name(tmp_path):
    path = tmp_path / "bad.conf"
    path.write_text(
        "[DEFAULT]\nexecutor = threading\ntransport_url = fake://\n"
        "[scheduler]\nworkers = 1\n[filter_scheduler]\nenabled_filters = RamFilter\n"
    )
    ended = run("--config-file", str(path))
    assert ended.returncode == 78
    assert "there is no filter RamFilter" in ended.stderr
    assert "Traceback" not in ended.stderr
