# SPDX-License-Identifier: Apache-2.0
"""The systemd units: valid, hardened, and consistent with the daemons."""

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from rpcapi.daemon import master, options, process

UNITS = Path(__file__).parents[2] / "devstack" / "deploy" / "systemd"
SERVICES = sorted(path.name for path in UNITS.glob("*.service"))
SYSTEM_UNITS = Path("/usr/lib/systemd/system")


def need_systemd_analyze() -> None:
    if shutil.which("systemd-analyze") and SYSTEM_UNITS.is_dir():
        return
    why = "systemd-analyze is missing: install Debian's package 'systemd'"
    if os.environ.get("CI") == "true":
        pytest.fail(why, pytrace=False)
    pytest.skip(why)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root folder with the units, their programs, and systemd's own units."""
    need_systemd_analyze()
    root = tmp_path_factory.mktemp("root")
    shutil.copytree(SYSTEM_UNITS, root / "usr/lib/systemd/system", symlinks=True)
    installed = root / "etc/systemd/system"
    installed.mkdir(parents=True)
    for path in (*UNITS.glob("*.service"), *UNITS.glob("*.target")):
        shutil.copy(path, installed)
    (root / "opt/gantt/bin").mkdir(parents=True)
    for program in (
        "gantt-conductor",
        "gantt-scheduler",
        "gantt-compute",
        "gantt-placement",
        "gantt-nova-bridge",
        "gantt-dashboard",
    ):
        (root / "opt/gantt/bin" / program).touch(mode=0o755)
    (root / "bin").mkdir()
    (root / "bin/kill").touch(mode=0o755)
    return root


def analyze(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *map(str, arguments)], capture_output=True, text=True, check=False)


def read(name: str) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNITS / name)
    return unit


def test_every_daemon_has_a_unit() -> None:
    assert SERVICES == [
        "gantt-compute.service",
        "gantt-conductor.service",
        "gantt-dashboard.service",
        "gantt-nova-bridge.service",
        "gantt-placement.service",
        "gantt-scheduler@.service",
    ]


@pytest.mark.parametrize("name", [*SERVICES, "gantt.target"])
def test_verify_reports_no_problem(root: Path, name: str) -> None:
    result = analyze("verify", f"--root={root}", "--man=no", root / "etc/systemd/system" / name)

    # An unknown key is only a line on standard error and does not change the status.
    assert (result.returncode, result.stderr) == (0, "")


def test_verify_reports_an_unknown_key(root: Path) -> None:
    broken = root / "etc/systemd/system" / "broken.service"
    broken.write_text((UNITS / "gantt-conductor.service").read_text().replace("WatchdogSec", "WatchdogSecs"))

    assert "WatchdogSecs" in analyze("verify", f"--root={root}", "--man=no", broken).stderr


@pytest.mark.parametrize("name", SERVICES)
def test_exposure_is_two_or_better(name: str) -> None:
    need_systemd_analyze()

    result = analyze("security", "--offline=true", "--threshold=20", UNITS / name)

    assert result.returncode == 0, result.stdout


def test_exposure_reports_a_missing_protection(tmp_path: Path) -> None:
    need_systemd_analyze()
    lines = (UNITS / "gantt-conductor.service").read_text().splitlines()
    weak = tmp_path / "gantt-conductor.service"
    weak.write_text("\n".join(line for line in lines if not line.startswith(("System", "Restrict", "Capab"))))

    assert analyze("security", "--offline=true", "--threshold=20", weak).returncode != 0


@pytest.mark.parametrize("name", SERVICES)
def test_unit_settings_match_the_daemon(name: str) -> None:
    service = read(name)["Service"]
    defaults = {option.dest: option.default for option in options.DAEMON}

    assert service["Type"] == "notify"
    assert int(service["RestartPreventExitStatus"]) == process.EX_CONFIG
    assert int(service["TimeoutStopSec"]) > defaults["graceful_shutdown_timeout"] + master.STOP_MARGIN
    assert int(service["TimeoutStartSec"]) > master.START_EXTENSION
    assert int(service["WatchdogSec"]) > 10 * master.TICK


def test_services_have_separate_users_and_files() -> None:
    users = [read(name)["Service"]["User"] for name in SERVICES]
    modes = [line.split()[1:] for line in (UNITS / "gantt.tmpfiles").read_text().splitlines()]

    assert len(set(users)) == len(users)
    assert "root" not in users
    for user, name in zip(users, SERVICES, strict=True):
        service = read(name)["Service"]
        program, *arguments = service["ExecStart"].split()
        options = f"/etc/gantt/{Path(program).name}.conf"
        secrets = f"/etc/gantt/{Path(program).name}.secrets.conf"
        assert arguments == ["--config-file", options, "--config-file", "%d/secrets.conf"]
        assert service["LoadCredential"] == f"secrets.conf:{secrets}"
        assert [options, "0640", "root", user] in modes
        assert [secrets, "0600", "root", "root"] in modes


@pytest.mark.parametrize("name", SERVICES)
def test_memory_is_limited_and_the_master_outlives_a_worker_above_it(name: str) -> None:
    service = read(name)["Service"]

    assert service["MemoryMax"].endswith("G")
    assert service["OOMPolicy"] == "continue"
