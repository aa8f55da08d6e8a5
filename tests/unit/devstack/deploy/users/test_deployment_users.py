# SPDX-License-Identifier: Apache-2.0
"""The users of a deployment on several machines."""

import hashlib
import json
import stat
from pathlib import Path

from devstack.deploy.users import deployment_users
from devstack.deploy.users.folder import Passwords


def test_each_controller_has_a_user_for_each_role_and_nobody_else_can_read_the_files(tmp_path: Path) -> None:
    folder = tmp_path / "users"

    assert deployment_users.main([str(folder), "controller1", "controller2"]) == 0

    document = json.loads((folder / "rabbitmq" / "definitions.json").read_text())
    names = ["admin", "operator"]
    names += [f"{role}.controller{number}" for number in (1, 2) for role in ("scheduler", "conductor", "reader")]
    assert [user["name"] for user in document["users"]] == names
    permissions = {user["user"]: user for user in document["permissions"]}
    assert r"reply\.scheduler\.controller1\." in permissions["scheduler.controller1"]["configure"]
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}


def test_second_run_keeps_passwords(tmp_path: Path) -> None:
    deployment_users.main([str(tmp_path), "controller1"])
    users = (tmp_path / "redis" / "redis.acl").read_text()

    deployment_users.main([str(tmp_path), "controller1"])

    assert (tmp_path / "redis" / "redis.acl").read_text() == users
    digest = hashlib.sha256(Passwords(tmp_path / "redis").of("scheduler").encode()).hexdigest()
    assert f"user scheduler on #{digest} " in users


def test_sentinels_have_no_user_of_the_store(tmp_path: Path) -> None:
    deployment_users.main([str(tmp_path), "controller1"])

    lines = (tmp_path / "redis" / "sentinel.acl").read_text().splitlines()
    assert [line.split()[1] for line in lines] == ["default", "whereabouts", "peer", "admin"]


def test_folder_that_others_may_write_to_is_refused(tmp_path: Path, capsys) -> None:
    tmp_path.chmod(0o777)

    assert deployment_users.main([str(tmp_path), "controller1"]) == 1
    assert "may be written to by other users" in capsys.readouterr().err
