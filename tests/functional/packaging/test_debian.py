# SPDX-License-Identifier: Apache-2.0
"""Debian's packages on a booted machine: installed, upgraded under a running cluster, and purged.

The tests build on each other, in their order, as an operator's steps do.
"""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack.deploy.packaging import checkout, debian_packages, documentation
from devstack.deploy.packaging.debian_packages import SERVICES
from devstack.deploy.packaging.distribution import Distribution
from tests.functional.packaging.caller import Caller
from tests.functional.packaging.programs import need_programs
from tests.functional.systemd import root
from tests.functional.systemd.cluster import SCHEDULERS, UNITS, boot, configure_cluster, gantt, start_cluster
from tests.functional.systemd.machine import Machine

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]

PACKAGES = sorted(["gantt-client", "gantt-common", "gantt-doc", *(f"gantt-{name}" for name in SERVICES)])
SHARED = "/srv/shared"
# What dpkg, systemd and the machine itself write; below it nothing of ours may stay.
FOLDERS = ("/etc", "/opt", "/usr", "/var/lib", "/var/log", "/run/systemd/system", "/var/cache")
OF_THE_SYSTEM = (
    "/var/lib/dpkg/",
    "/var/lib/apt/",
    "/var/cache/apt/",
    "/var/cache/man/",
    "/var/lib/redis",
    "/var/log/",
    "/etc/redis/",
)
# The users that stay, and the backups that their creation writes.
OF_USERS = ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow", "/etc/.pwd.lock")
# Every file that the installed distribution names exists.
CHECK_RECORD = """
from importlib.metadata import files
missing = [str(file) for file in files("gantt") if not file.locate().exists()]
assert not missing, missing
"""
TMPFILES = [f"gantt-{name}.conf" for name in ("common", *SERVICES)]


@pytest.fixture(scope="module")
def shared(debian: list[Path], release: Distribution, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of two builds, ``1`` and ``2``."""
    need_programs({"lintian": "lintian"})
    shared = tmp_path_factory.mktemp("debian") / "shared"
    first, second = shared / "1", shared / "2"
    second.mkdir(parents=True)
    first.mkdir()
    for packages in ([Path(shutil.copy(path, first)) for path in debian], debian_packages.build(release, second, 2)):
        assert [package.name.partition("_")[0] for package in packages] == PACKAGES
    subprocess.run(["chmod", "-R", "a+rX", shared], check=True)
    return shared


@pytest.fixture(scope="module")
def bare(shared: Path) -> Iterator[Machine]:
    """A booted machine without gantt, and without what only an installation by pip needs."""
    machine = Machine(root.ready_root(), shared)
    try:
        machine.boot()
        machine.run("rm", "-r", "/opt/gantt")
        machine.script("DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends man-db")
        machine.run("dpkg", "--purge", "python3-venv", "python3.11-venv", "python3-pip-whl", "python3-setuptools-whl")
        yield machine
    finally:
        machine.halt()


def install(machine: Machine, revision: int, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Install every package of a build by apt, as an operator does."""
    files = [f"{SHARED}/{revision}/{package.name}" for package in sorted(machine_folder(machine, revision))]
    return machine.run("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", *files, check=check)


def machine_folder(machine: Machine, revision: int) -> list[Path]:
    names = machine.run("ls", f"{SHARED}/{revision}").stdout.split()
    return [Path(name) for name in names if name.endswith(".deb")]


@pytest.fixture(scope="module")
def files_before(bare: Machine) -> set[str]:
    """The machine's files before the packages are installed."""
    return files(bare)


def files(machine: Machine) -> set[str]:
    """Return the paths of the machine's files that packages may have written."""
    # dpkg removes an empty /opt, which find then reports.
    listing = machine.run("find", *FOLDERS, "-not", "-type", "d", "-o", "-type", "d", "-empty", check=False)
    names = listing.stdout.splitlines()
    return {name for name in names if not name.startswith((*OF_THE_SYSTEM, *OF_USERS))}


def modes(machine: Machine, *paths: str) -> list[str]:
    return machine.run("stat", "--format=%a %U:%G", *paths).stdout.splitlines()


def test_lintian_finds_nothing(shared: Path) -> None:
    debian_packages.lint(sorted((shared / "1").glob("*.deb")))


def test_installation_by_hand_is_not_overwritten(bare: Machine, files_before: set[str]) -> None:
    bare.write("/etc/systemd/system/gantt-conductor.service", "[Service]\n")

    done = install(bare, 1, check=False)

    assert done.returncode != 0
    assert "gantt-conductor.service is of an installation by hand" in done.stdout + done.stderr
    bare.run("rm", "/etc/systemd/system/gantt-conductor.service")
    bare.run("dpkg", "--purge", *PACKAGES, check=False)


def test_packages_install_and_start_nothing(bare: Machine) -> None:
    install(bare, 1)

    versions = bare.run("dpkg-query", "--show", "--showformat=${Package} ${Status} ${Version}\n", *PACKAGES).stdout
    assert [line.split()[0] for line in versions.splitlines()] == PACKAGES
    assert all("install ok installed" in line and line.endswith("-1") for line in versions.splitlines())
    assert {bare.property(unit, "ActiveState") for unit in UNITS} == {"inactive"}
    assert {bare.property(unit, "LoadState") for unit in UNITS} == {"loaded"}
    states = "--state=active,activating,failed"
    assert bare.run("systemctl", "list-units", "--no-legend", "--plain", states, "gantt-*.service").stdout == ""
    assert bare.run("systemctl", "is-enabled", "gantt.target").stdout.strip() == "enabled"
    assert bare.run("systemctl", "is-enabled", *UNITS, check=False).stdout.split() == ["disabled"] * len(UNITS)


def test_commands_are_on_the_path_and_know_their_version(bare: Machine, release: Distribution) -> None:
    assert bare.run("gantt", "--version").stdout.split()[-1] == release.version
    for program in ("gantt-status", "gantt-nova-config", "gantt-placement-import"):
        assert "usage" in bare.run(program, "--help").stdout.lower()
    assert "gantt" in bare.run("bash", "-c", ". /usr/share/bash-completion/completions/gantt; complete -p gantt").stdout


def test_every_program_has_a_man_page_in_the_package_of_its_command(bare: Machine, release: Distribution) -> None:
    owners = {f"gantt-{name}": f"gantt-{name}" for name in SERVICES} | {
        **dict.fromkeys(("gantt", "gantt-status"), "gantt-client"),
        **dict.fromkeys(("gantt-placement-import", "gantt-placement-shadow"), "gantt-placement"),
        "gantt-nova-config": "gantt-nova-bridge",
    }
    assert owners.keys() == release.programs

    for program, package in owners.items():
        path = bare.run("man", "--where", program).stdout.strip()
        assert bare.run("dpkg", "--search", path).stdout.split(":")[0] == package
        text = bare.run("man", "--warnings", program)
        assert program in text.stdout
        assert text.stderr == ""


def test_site_is_complete_and_registered(bare: Machine) -> None:
    listing = bare.run("dpkg", "--listfiles", "gantt-doc").stdout.split()
    expected = documentation.pages(checkout.tracked_files())

    assert {f"/usr/{page}" for page in expected} - set(listing) == set()
    index = bare.run("cat", "/usr/share/doc-base/gantt-doc.gantt").stdout
    assert "Index: /usr/share/doc/gantt/html/index.html" in index.splitlines()
    # A machine may be without a network.
    elsewhere = '<(script|img|link|iframe)[^>]* (src|href)="(https?:)?//'
    assert bare.run("grep", "-rlE", elsewhere, "/usr/share/doc/gantt/html", check=False).stdout == ""


def test_environment_has_no_second_copy_of_the_documentation(bare: Machine) -> None:
    assert bare.run("find", "/opt/gantt/share", "-name", "gantt*", check=False).stdout == ""
    bare.run("/opt/gantt/bin/python", "-c", CHECK_RECORD)


def test_each_service_has_a_user_a_configuration_and_secrets_that_only_root_reads(bare: Machine) -> None:
    for name in SERVICES:
        service = f"gantt-{name}"
        assert bare.run("id", "--user", service).stdout.strip() != "0"
        assert modes(bare, f"/etc/gantt/{service}.conf") == [f"640 root:{service}"]
        assert modes(bare, f"/etc/gantt/{service}.secrets.conf") == ["600 root:root"]
        conffiles = bare.run("dpkg-query", "--show", "--showformat=${Conffiles}", service).stdout.split()
        assert conffiles[::2] == [f"/etc/gantt/{service}.conf"]
    assert bare.run("dpkg", "--verify", *PACKAGES).stdout == ""


def test_only_root_may_write_the_programs(bare: Machine) -> None:
    writable = bare.run("find", "/opt/gantt", "!", "-type", "l", "(", "-perm", "/022", "-o", "!", "-user", "root", ")")
    assert writable.stdout == ""
    assert bare.run("/opt/gantt/bin/python", "-c", "import sys; print(sys.prefix)").stdout.strip() == "/opt/gantt"
    named = bare.run(
        "grep", "-rlI", "--exclude-dir=site-packages", "debian/gantt-common", "/opt/gantt", check=False
    ).stdout
    assert named == "", "a file names the folder in which it was built"


def test_cluster_of_the_packages_boots_servers(bare: Machine) -> None:
    configure_cluster(bare, *TMPFILES)
    start_cluster(bare)

    boot(bare, 3)

    bare.run("gantt", "claim", "verify")


def test_upgrade_restarts_what_runs_and_no_boot_fails(bare: Machine) -> None:
    processes = {unit: bare.property(unit, "MainPID") for unit in UNITS}
    before = {server["uuid"] for server in gantt(bare, "server", "list")}
    caller = Caller(bare)
    caller.start()
    bare.eventually(lambda: caller.boots, "a boot before the upgrade")

    install(bare, 2)
    states = {unit: bare.property(unit, "ActiveState") for unit in UNITS}
    assert set(states.values()) == {"active"}, [
        bare.journal(unit)[-2000:] for unit in UNITS if states[unit] != "active"
    ]
    boots = caller.boots
    bare.eventually(lambda: caller.boots > boots + 1, "a boot after the upgrade")
    caller.end()

    assert caller.failures == []
    assert bare.run("dpkg-query", "--show", "--showformat=${Version}", "gantt-common").stdout.endswith("-2")
    for unit in UNITS:
        assert bare.property(unit, "MainPID") not in ("0", processes[unit]), unit
    servers = gantt(bare, "server", "list")
    assert before < {server["uuid"] for server in servers}
    assert {server["status"] for server in servers} == {"ACTIVE"}
    bare.run("gantt", "claim", "verify")
    assert "workers = 2" in bare.run("cat", "/etc/gantt/gantt-scheduler.conf").stdout, "the operator's configuration"


def test_upgrade_starts_nothing_that_was_stopped(bare: Machine) -> None:
    bare.run("systemctl", "stop", "gantt-placement.service")

    bare.run("dpkg", "--install", *[f"{SHARED}/2/{path.name}" for path in machine_folder(bare, 2)])

    assert bare.property("gantt-placement.service", "ActiveState") == "inactive"
    assert bare.property(SCHEDULERS, "ActiveState") == "active"


def test_removal_stops_the_services_and_keeps_configuration_and_guests(bare: Machine) -> None:
    bare.run("apt-get", "remove", "--yes", *PACKAGES)

    assert {bare.property(unit, "ActiveState") for unit in UNITS} == {"inactive"}
    assert bare.run("test", "-e", "/opt/gantt", check=False).returncode == 1
    for path in ("/etc/gantt/gantt-scheduler.conf", "/etc/gantt/gantt-compute.secrets.conf", "/var/lib/gantt-compute"):
        bare.run("test", "-e", path)


def test_purge_leaves_the_users_only(bare: Machine, files_before: set[str]) -> None:
    bare.run("dpkg", "--purge", *PACKAGES)
    # Written by the operator, not by a package.
    bare.run("rm", "/etc/gantt/gantt.conf")
    bare.run("rmdir", "/etc/gantt")

    assert files(bare) - files_before == set()
    assert bare.run("id", "--user", "gantt-scheduler").returncode == 0
