# SPDX-License-Identifier: Apache-2.0
"""A real Keystone with a database of its own, and what the tests ask of it."""

import contextlib
import getpass
import grp
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from devstack.servers.ports import answers, free_port
from tests.support.clusters.waiting import wait_until
from tests.support.run_folders import claim_folder, release_folder

PASSWORD = "secret"  # noqa: S105 -- of a Keystone that only this test has
REGION = "RegionOne"
ADMINISTRATOR = "admin"
PROJECT = "admin"  # which the bootstrap creates, and of which all users of the tests are members
SECONDS = 60

_CONFIGURATION = """\
[DEFAULT]
log_file = {folder}/keystone.log
[database]
connection = sqlite:///{folder}/keystone.sqlite
[fernet_tokens]
key_repository = {folder}/fernet
[credential]
key_repository = {folder}/credential
[token]
expiration = {expiration}
"""


class KeystoneServer:
    """Keystone by the programs in the folder ``programs``, at one address however often it is started."""

    def __init__(self, folder: Path, programs: Path) -> None:
        """Make the database, with an administrator and Keystone's usual roles."""
        self._folder = folder
        self._programs = programs
        self._port = free_port()
        self._stack = contextlib.ExitStack()
        self.url = f"http://127.0.0.1:{self._port}/v3"
        for name in ("fernet", "credential"):
            (folder / name).mkdir()
        self._manage("db_sync")
        owner = ["--keystone-user", getpass.getuser(), "--keystone-group", grp.getgrgid(os.getgid()).gr_name]
        self._manage("fernet_setup", *owner)
        urls = ["--bootstrap-public-url", self.url, "--bootstrap-internal-url", self.url]
        urls += ["--bootstrap-region-id", REGION]
        self._manage("bootstrap", "--bootstrap-password", PASSWORD, *urls)

    def start(self) -> None:
        """Serve."""
        self._stack.enter_context(self._serving(self._port, expiration=3600))

    def stop(self) -> None:
        """Serve no more; raises AssertionError where Keystone had ended before."""
        self._stack.close()

    @contextlib.contextmanager
    def short_lived_tokens(self, seconds: int) -> Iterator[str]:
        """Serve the same database at another address, whose tokens expire; yield its URL."""
        port = free_port()
        with self._serving(port, expiration=seconds):
            yield f"http://127.0.0.1:{port}/v3"

    def credentials(self, user: str) -> dict[str, str]:
        """Return the variables of the OpenStack client for a user."""
        return {
            "OS_AUTH_URL": self.url,
            "OS_USERNAME": user,
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": PROJECT,
            "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default",
            "OS_REGION_NAME": REGION,
        }

    def token(self, user: str, url: str | None = None) -> str:
        """Return a new token for the project, from the server at a URL."""
        domain = {"id": "default"}
        password = {"user": {"name": user, "password": PASSWORD, "domain": domain}}
        scope = {"project": {"name": PROJECT, "domain": domain}}
        body: Any = {"auth": {"identity": {"methods": ["password"], "password": password}, "scope": scope}}
        answer = requests.post(f"{url or self.url}/auth/tokens", json=body, timeout=SECONDS)
        assert answer.status_code == 201, answer.text
        return answer.headers["x-subject-token"]

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        self._call("DELETE", "/auth/tokens", headers={"x-subject-token": token})

    def create_user(self, role: str) -> str:
        """Create a user who has one role in the project; return the user's name."""
        name = f"user-with-role-{role}"
        user = self._call("POST", "/users", {"user": {"name": name, "password": PASSWORD, "domain_id": "default"}})
        role_id = self._id_of("roles", role)
        self._call("PUT", f"/projects/{self.project_id}/users/{user['user']['id']}/roles/{role_id}")
        return name

    def create_project(self, name: str, user: str) -> str:
        """Create a project of which a user is a member; return its name."""
        project = self._call("POST", "/projects", {"project": {"name": name, "domain_id": "default"}})["project"]
        role_id = self._id_of("roles", "member")
        self._call("PUT", f"/projects/{project['id']}/users/{self.user_id(user)}/roles/{role_id}")
        return name

    def user_id(self, name: str) -> str:
        """Return the id of a user."""
        return self._id_of("users", name)

    @property
    def project_id(self) -> str:
        """The id of the project."""
        return self._id_of("projects", PROJECT)

    def _id_of(self, collection: str, name: str) -> str:
        (entry,) = self._call("GET", f"/{collection}?name={name}")[collection]
        return str(entry["id"])

    def _call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Send a request as the administrator; return the document of the answer, None without one."""
        headers = {"x-auth-token": self.token(ADMINISTRATOR), **(headers or {})}
        answer = requests.request(method, self.url + path, json=body, headers=headers, timeout=SECONDS)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def _manage(self, *arguments: str) -> None:
        command: list[str | Path] = [
            self._programs / "keystone-manage",
            "--config-file",
            self._configuration(3600),
            *arguments,
        ]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5 * SECONDS, check=False)
        assert answer.returncode == 0, answer.stderr

    @contextlib.contextmanager
    def _serving(self, port: int, expiration: int) -> Iterator[None]:
        program = Path(__file__).with_name("keystone_program.py")
        log_path = self._folder / f"keystone-{port}.log"
        options = ("-W", "ignore", program, self._configuration(expiration), str(port))
        command: list[str | Path] = [self._programs / "python", *options]
        with log_path.open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self._folder)
        try:
            wait_until(lambda: answers(port) or process.poll() is not None, "the start of Keystone")
            yield
            assert process.poll() is None, log_path.read_text()
        finally:
            process.kill()
            process.wait()

    def _configuration(self, expiration: int) -> str:
        """Return the path of a configuration file."""
        path = self._folder / f"keystone-{expiration}.conf"
        path.write_text(_CONFIGURATION.format(folder=self._folder, expiration=expiration), encoding="utf-8")
        return str(path)


@contextlib.contextmanager
def running(programs: Path) -> Iterator[KeystoneServer]:
    """Run a Keystone by the programs in a folder."""
    folder = claim_folder()
    server = KeystoneServer(folder, programs)
    server.start()
    yield server
    server.stop()
    release_folder(folder)
