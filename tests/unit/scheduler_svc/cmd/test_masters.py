# SPDX-License-Identifier: Apache-2.0
"""The master processes of daemons whose workers are forked."""

import subprocess
import sys

import pytest

CHECK = """
import sys
import scheduler_svc.cmd.{name}
from rpcapi.daemon import concurrency
concurrency.require_no_worker_modules()
print([name for name in ("numpy", "redis", "sqlalchemy") if name in sys.modules])
"""


@pytest.mark.parametrize("name", ["scheduler", "placement", "placement_shadow", "nova_bridge"])
def test_master_imports_nothing_of_its_workers(name: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", CHECK.format(name=name)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("[]\n", 0), run.stderr
