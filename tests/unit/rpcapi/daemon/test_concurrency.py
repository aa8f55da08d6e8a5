# SPDX-License-Identifier: Apache-2.0
"""The choice of the executor in a worker."""

import subprocess
import sys

import pytest

from tests.unit.rpcapi.daemon.conftest import ROOT, ToyDaemon


@pytest.mark.parametrize("module", ["eventlet", "prometheus_client"])
def test_master_that_imported_a_worker_module_is_rejected(toy: ToyDaemon, module: str) -> None:
    toy.configure()
    program = f"import sys, {module}; from tests.unit.rpcapi.daemon import toy; sys.exit(toy.main())"
    process = subprocess.run(
        [sys.executable, "-c", program, "--config-file", str(toy.conf)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert f"{module} was imported before the workers were forked" in process.stderr
    assert toy.events() == []
