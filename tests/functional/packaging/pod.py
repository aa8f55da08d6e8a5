# SPDX-License-Identifier: Apache-2.0
"""A pod without Kubernetes: containers of one image in a network of their own, run by runc without root.

The pod has user ids of its own, as a rootless container engine makes them: its root is a user without rights outside.
"""

import contextlib
import copy
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

FIRST_ID, IDS = 100_000, 65_536  # as Debian's /etc/subuid gives them to the first user
SECONDS = 240.0
ENVIRONMENT = ("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
TMP = ["nosuid", "nodev", "noexec", "mode=1777", "size=64m"]


class Container(NamedTuple):
    """A running container, and the file with what it prints."""

    process: subprocess.Popen[bytes]
    output: Path


class Pod:
    """The namespaces of a pod, below a folder of its own, and its containers."""

    def __init__(self, folder: Path, image: str) -> None:
        self.folder = folder
        self._image = image
        self._pause: subprocess.Popen[bytes] | None = None
        self._base: dict[str, Any] = {}
        self.containers: dict[str, Container] = {}

    @contextlib.contextmanager
    def running(self) -> Iterator["Pod"]:
        """Make the namespaces and unpack the image; end every container afterwards."""
        self._pause = subprocess.Popen(["unshare", "--user", "--net", "--mount", "sleep", "infinity"])
        try:
            self.eventually(self._has_namespaces, "the pod's namespaces")
            for kind in ("uid", "gid"):
                Path(f"/proc/{self._pause.pid}/{kind}_map").write_text(f"0 {FIRST_ID} {IDS}")
            subprocess.run(["chown", "-R", f"{FIRST_ID}:{FIRST_ID}", self.folder], check=True)
            self.inside("ip", "link", "set", "lo", "up")
            self.inside("umoci", "unpack", "--rootless", "--image", self._image, str(self.folder / "image"))
            self._base = json.loads((self.folder / "image" / "config.json").read_text())
            yield self
        finally:
            for container in reversed(self.containers.values()):
                container.process.terminate()
                container.process.wait(60)
            self._pause.kill()
            self._pause.wait()

    def _has_namespaces(self) -> bool:
        assert self._pause is not None
        own, pause = (Path(f"/proc/{pid}/ns/user").readlink() for pid in ("self", self._pause.pid))
        return own != pause

    def _enter(self) -> list[str]:
        assert self._pause is not None
        return ["nsenter", f"--target={self._pause.pid}", "--user", "--net", "--mount", *ENVIRONMENT]

    def inside(self, *command: str) -> str:
        """Run a program of the machine as the pod's root; return what it prints."""
        done = subprocess.run([*self._enter(), *command], capture_output=True, text=True, check=False, timeout=SECONDS)
        assert done.returncode == 0, f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout

    def run(self, *command: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run a container to its end."""
        name = f"once{time.monotonic_ns()}"
        return subprocess.run(
            self._prepare(name, command, config), capture_output=True, text=True, check=False, timeout=SECONDS
        )

    def start(self, name: str, *command: str, config: Path | None = None) -> Container:
        """Start a container, which runs until the pod ends; ``config`` is its /etc/gantt."""
        output = self.folder / f"{name}.log"
        with output.open("wb") as file:
            process = subprocess.Popen(self._prepare(name, command, config), stdout=file, stderr=file)
        self.containers[name] = Container(process, output)
        return self.containers[name]

    def _prepare(self, name: str, command: tuple[str, ...], config: Path | None) -> list[str]:
        """Write the bundle of a container: the image's user, no capability, a root that nobody may write."""
        settings = copy.deepcopy(self._base)
        process, linux = settings["process"], settings["linux"]
        process |= {"terminal": False, "args": list(command), "rlimits": []}
        process["capabilities"] = {kind: [] for kind in process["capabilities"]}
        settings["root"] = {"path": str(self.folder / "image" / "rootfs"), "readonly": True}
        linux["namespaces"] = [item for item in linux["namespaces"] if item["type"] != "user"]
        del linux["uidMappings"], linux["gidMappings"]
        settings["mounts"].append({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": TMP})  # noqa: S108
        if config:
            options = ["bind", "ro", "nosuid", "nodev"]
            settings["mounts"].append(
                {"destination": "/etc/gantt", "type": "bind", "source": str(config), "options": options}
            )
        bundle = self.folder / name
        bundle.mkdir()
        (bundle / "config.json").write_text(json.dumps(settings))
        state = str(self.folder / "state")
        return [*self._enter(), "runc", "--root", state, "run", "--bundle", str(bundle), name]

    def eventually(self, condition: Callable[[], object], what: str) -> None:
        """Wait until ``condition`` is true; raises AssertionError with what the containers printed."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.2)
        logs = {name: container.output.read_text()[-2000:] for name, container in self.containers.items()}
        raise AssertionError(f"Never came: {what}\n{logs}")
