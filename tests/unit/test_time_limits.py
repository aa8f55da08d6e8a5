# SPDX-License-Identifier: Apache-2.0
"""A property that exceeds its time fails, and is not run again."""

import subprocess
import sys
from pathlib import Path

PROPERTY = """
from hypothesis import given, settings, strategies

runs = 0


@settings(deadline=None, database=None)
@given(strategies.integers())
def test_endless(number):
    global runs
    runs += 1
    assert runs == 1, "it was run again"
    while True:
        pass
"""


def test_endless_property_fails_once(tmp_path: Path) -> None:
    (tmp_path / "test_property.py").write_text(PROPERTY)
    command = (sys.executable, "-m", "pytest", "-p", "tests.support.time_limits", "--timeout", "1", "-c", "/dev/null")
    run = subprocess.run(
        [*command, "--rootdir", tmp_path, tmp_path],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "TimeLimitExceeded: after 1 s" in run.stdout
    assert "it was run again" not in run.stdout
