# SPDX-License-Identifier: Apache-2.0
"""Installing missing packages: only as root, with reported failures, and without starting services."""

import os
from pathlib import Path

import pytest

from devstack.servers import install
from devstack.servers.errors import ServerError
from tests.support import packages

# A fake apt-get that records its call and the machine's policy at that time.
FAKE_APT = """#!/bin/sh
echo "$*" >> {folder}/calls
cat {folder}/policy-rc.d >> {folder}/policy-seen
ln -s /nowhere {folder}/units/multi-user.target.wants/fresh.service 2>/dev/null
{then}
"""


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without RabbitMQ, with root permissions and a fake apt-get."""
    monkeypatch.setitem(install.PRESENCE_CHECKS, "rabbitmq-server", lambda: False)
    monkeypatch.setitem(install.PRESENCE_CHECKS, "redis-server", lambda: True)
    monkeypatch.setattr(install, "POLICY", tmp_path / "policy-rc.d")
    monkeypatch.setattr(install, "UNIT_LINKS", tmp_path / "units")
    monkeypatch.setattr(install, "SYSTEM_PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(install, "APT", [str(tmp_path / "apt-get")])
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    disabled: list[set[str]] = []
    monkeypatch.setattr(install, "_disable", disabled.append)
    wants = tmp_path / "units" / "multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "owners.service").symlink_to("/nowhere")
    apt_get(tmp_path, then="exit 0")
    return tmp_path, disabled


def apt_get(folder: Path, then: str) -> None:
    script = folder / "apt-get"
    script.write_text(FAKE_APT.format(folder=folder, then=then))
    script.chmod(0o755)


def test_missing_packages_are_installed_and_not_enabled(machine):
    folder, disabled = machine

    assert install.install_missing() == ["rabbitmq-server"]

    calls = (folder / "calls").read_text().splitlines()
    assert calls == ["update", "install --yes --no-install-recommends rabbitmq-server"]
    assert disabled == [{"fresh.service"}]


def test_nothing_missing_changes_nothing(machine, monkeypatch):
    folder, _ = machine
    monkeypatch.setitem(install.PRESENCE_CHECKS, "rabbitmq-server", lambda: True)

    assert install.install_missing() == []

    assert not (folder / "calls").exists()


@pytest.mark.parametrize("policy", [None, "#!/bin/sh\nexit 0\n"])
@pytest.mark.parametrize("then", ["exit 0", "exit 100"])
def test_service_starts_are_denied_and_the_policy_is_restored(machine, policy, then):
    folder, _ = machine
    apt_get(folder, then)
    if policy is not None:
        (folder / "policy-rc.d").write_text(policy)

    try:
        install.install_missing()
    except ServerError:
        assert then == "exit 100"

    assert "exit 101" in (folder / "policy-seen").read_text()
    policy_file = folder / "policy-rc.d"
    assert (policy_file.read_text() if policy_file.exists() else None) == policy
    assert not list(folder.glob("*.before-gantt"))


def test_failure_reports_the_last_line_of_apt(machine):
    folder, _ = machine
    apt_get(folder, "echo 'E: Temporary failure resolving deb.debian.org' >&2; exit 100")

    with pytest.raises(ServerError, match=r"Temporary failure resolving.*network"):
        install.install_missing()


def test_error_for_a_non_root_user_names_the_command(machine, monkeypatch):
    folder, _ = machine
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    with pytest.raises(ServerError, match="apt-get install rabbitmq-server"):
        install.install_missing()

    assert not (folder / "calls").exists()


def test_machine_without_apt_is_reported(machine, monkeypatch):
    monkeypatch.setattr(install, "SYSTEM_PATH", "/nowhere")

    with pytest.raises(ServerError, match="no apt-get"):
        install.install_missing()


def test_packages_of_the_tests_are_installed_too(machine, monkeypatch, capsys):
    folder, _ = machine
    monkeypatch.setattr(packages, "CHECKS", {"redis-server": lambda: True, "zsh": lambda: False})

    assert packages.main() == 0

    assert "install --yes --no-install-recommends zsh" in (folder / "calls").read_text()
    assert "Installed zsh;" in capsys.readouterr().out


def test_installer_of_the_tests_prints_a_failure(machine, monkeypatch, capsys):
    monkeypatch.setattr(packages, "CHECKS", {"zsh": lambda: False})
    apt_get(machine[0], "exit 100")

    assert packages.main() == 1

    assert "failed" in capsys.readouterr().err
