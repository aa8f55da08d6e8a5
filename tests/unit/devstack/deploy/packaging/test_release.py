# SPDX-License-Identifier: Apache-2.0
"""The release check list: what a step prints, and what stops a release."""

from pathlib import Path

import pytest

from devstack.deploy.packaging import release
from devstack.deploy.packaging.programs import PackagingError
from devstack.deploy.packaging.release import Release, Step


@pytest.fixture
def candidate(tmp_path: Path) -> Release:
    return Release(tmp_path, "1.0.0", tmp_path / "dist", tmp_path / "work")


def test_step_that_passes_prints_its_detail(candidate: Release, capsys: pytest.CaptureFixture[str]) -> None:
    step = Step("version", "the version is a release's", lambda item: f"{item.version}, not tagged yet")

    assert release.passes(step, candidate, skipped=[])
    assert capsys.readouterr().out == "ok       version: 1.0.0, not tagged yet\n"


def test_step_that_fails_prints_why(candidate: Release, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(item: Release) -> str:
        raise PackagingError("3 files are not committed")

    assert not release.passes(Step("clean", "every file is committed", fail), candidate, skipped=[])
    assert capsys.readouterr().out == "FAILED   clean: every file is committed\n3 files are not committed\n"


def test_skipped_step_is_not_run(candidate: Release, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(item: Release) -> str:
        raise AssertionError("it was run")

    assert release.passes(Step("tests", "all tests pass", fail), candidate, skipped=["tests"])
    assert capsys.readouterr().out == "skipped  tests: all tests pass\n"


def test_list_names_every_step_and_builds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["--list", "--output", str(tmp_path / "dist")]) == 0

    checks = ["clean", "version", "notes", "tests"]
    builds = ["documentation", "build", "install", "sbom", "chart", "sums"]
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == checks + builds
    assert not (tmp_path / "dist").exists()


def test_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gantt-0.9.whl").touch()

    with pytest.raises(SystemExit) as caught:
        release.main(["--output", str(tmp_path)])

    assert caught.value.code == 2
    assert "is not empty; remove it, or name another folder" in capsys.readouterr().err
