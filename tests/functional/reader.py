# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of documentation pages on a cluster."""

import os
import shlex
import subprocess
import sys
import uuid
from pathlib import Path

from devstack import exercise
from rpcapi import objects
from rpcapi.admin import waiting
from tests.support import CHECKOUT
from tests.support.clusters import commands


class NoProgress:
    def update(self, number):
        """Ignore the progress."""


class Reader:
    """Runs commands in a folder of its own, as a reader with a cluster would."""

    def __init__(self, running, folder):
        self._folder = folder
        self._conf = str(running.cluster.client_conf)
        self.uuid = str(uuid.uuid4())
        session = running.session
        session.new_request()
        spec = objects.RequestSpec.of(resources={"VCPU": 1, "MEMORY_MB": 512})
        session.call(session.conductor.build_instances, spec, [self.uuid])
        waiting.wait_for_status(session, [self.uuid], exercise.FINAL_STATUSES, 60, NoProgress())

    def run(self, line):
        """Run a command line; names of things of the pages are replaced by those of the cluster."""
        line = line.replace("$UUID", self.uuid).replace("5c1f...", self.uuid)
        if "other.jsonl" in line:
            (self._folder / "other.jsonl").write_bytes((self._folder / "gantt.jsonl").read_bytes())
        program, *arguments = shlex.split(line)
        command = commands.gantt() if program == "gantt" else [str(Path(sys.executable).with_name(program))]
        return self._execute([*command, *arguments])

    def run_python(self, text):
        return self._execute([sys.executable, "-c", text])

    def _execute(self, command):
        environment = {"PYTHONPATH": str(CHECKOUT), "GANTT_CONFIG_FILE": self._conf}
        return subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=240,
            cwd=self._folder,
            env=os.environ | environment,
        )
