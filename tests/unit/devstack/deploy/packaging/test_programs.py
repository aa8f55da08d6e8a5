# SPDX-License-Identifier: Apache-2.0
"""Programs that fail, are missing or hang, and those that end well."""

import pytest

from devstack.deploy.packaging.programs import SHOWN_LINES, PackagingError, run


def test_output_of_a_program_is_returned_and_its_environment_is_added_to() -> None:
    assert run("sh", "-c", "echo $GREETING; command -v ls >/dev/null", env={"GREETING": "hello"}) == "hello\n"


def test_failed_program_is_an_error_with_the_end_of_its_output() -> None:
    with pytest.raises(PackagingError) as caught:
        run("sh", "-c", f"seq {2 * SHOWN_LINES}; echo reason >&2; exit 3")

    first, *lines = str(caught.value).splitlines()
    assert first.endswith("ended with status 3:")
    assert len(lines) == SHOWN_LINES
    assert lines[-1] == "reason"


def test_missing_program_is_an_error() -> None:
    with pytest.raises(PackagingError, match="gantt-no-such-program is not installed"):
        run("gantt-no-such-program")


def test_program_that_does_not_end_is_an_error() -> None:
    with pytest.raises(PackagingError, match="did not end within 0 s"):
        run("sleep", "600", seconds=0.2)


def test_program_does_not_see_the_modules_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")

    assert run("sh", "-c", "echo ${PYTHONPATH-none}") == "none\n"
