# SPDX-License-Identifier: Apache-2.0
"""A booted systemd: systemd-nspawn on a root with discarded changes, alone or with other machines on a network."""

import contextlib
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tests.functional.systemd import cgroups

BOOT_SECONDS = 240.0
COMMAND_TIMEOUT = 240.0
ALONE = ("--volatile=overlay", "--private-network")

Answer = TypeVar("Answer")


def _is_first_of_its_namespace(pid: str) -> bool:
    """Whether a process is number 1 to itself; the helper that prepares a machine's mounts and then ends is not."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it has ended since
        return False
    numbers = next(line.split()[1:] for line in status.splitlines() if line.startswith("NSpid:"))
    return len(numbers) > 1 and numbers[-1] == "1"


@dataclass(frozen=True)
class Place:
    """The host name and the network namespace of a machine among others."""

    hostname: str
    namespace: Path


class Machine:
    """A booted machine; ``shared`` is mounted read-only as /srv/shared.

    Without a ``place`` it has no network, and its changes to the root go with it. With one they stay.
    """

    def __init__(self, root: Path, shared: Path, place: Place | None = None) -> None:
        self._name = f"gantt-{uuid.uuid4().hex[:12]}"
        self._root = root
        self._shared = shared
        self._console = shared.parent / (f"console-{place.hostname}" if place else "console")
        self._settings = ALONE
        if place:
            self._settings = (f"--hostname={place.hostname}", f"--network-namespace-path={place.namespace}")
        self._nspawn: subprocess.Popen[bytes] | None = None
        self._leader = 0
        self._groups: list[Path] = []

    def boot(self) -> None:
        """Boot, and return when systemd has started what is enabled."""
        self._groups = cgroups.make(self._name)
        with self._console.open("wb") as console:
            self._nspawn = subprocess.Popen(
                [
                    *("sh", "-c", cgroups.ENTER, "enter", *self._groups, "--"),
                    *("setpriv", "--pdeathsig=TERM"),  # a killed test run leaves no machine behind
                    *("systemd-nspawn", "--boot", "--quiet", f"--directory={self._root}", *self._settings),
                    *("--register=no", "--keep-unit", "--console=pipe"),
                    f"--machine={self._name}",
                    f"--bind-ro={self._shared}:/srv/shared",
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        self._leader = self.eventually(self._find_leader, "the machine's first process")
        try:
            self.eventually(self._is_up, "the end of the boot")
        except AssertionError as late:
            shown = [self.run("systemctl", command, check=False) for command in ("is-system-running", "list-jobs")]
            raise AssertionError("\n".join(answer.stdout + answer.stderr for answer in shown)) from late

    def _find_leader(self) -> int:
        if self._nspawn is None or self._nspawn.poll() is not None:
            raise AssertionError(f"systemd-nspawn ended:\n{self._console.read_text(errors='replace')}")
        children = Path(f"/proc/{self._nspawn.pid}/task/{self._nspawn.pid}/children").read_text().split()
        return next((int(pid) for pid in children if _is_first_of_its_namespace(pid)), 0)

    def _is_up(self) -> bool:
        state = self.run("systemctl", "is-system-running", check=False).stdout.strip()
        return state in {"running", "degraded"}

    def run(self, *command: str, check: bool = True, stdin_text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program inside, as root in the machine's namespaces; ``stdin_text`` is its standard input."""
        done = subprocess.run(
            [
                "nsenter",
                f"--target={self._leader}",
                "--all",
                "env",
                "-i",
                "PATH=/usr/local/sbin:/usr/bin:/usr/sbin",
                *command,
            ],
            input=stdin_text,
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_TIMEOUT,
        )
        if check and done.returncode:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def script(self, text: str) -> str:
        """Run a script by bash, which ends at the first command that fails; return its output."""
        return self.run("bash", "-eu", "-o", "pipefail", "-c", text).stdout

    def write(self, path: str, text: str) -> None:
        """Write a file inside, with the folders above it."""
        self.run("sh", "-c", 'mkdir -p "$(dirname "$1")" && cat > "$1"', "write", path, stdin_text=text)

    def install(self) -> None:
        """Install the sources in /srv/shared/gantt as an operator would, and their units; start nothing."""
        self.run("cp", "-r", "/srv/shared/gantt", "/usr/src/gantt")
        offline = ("--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall", "--quiet")
        self.run("/opt/gantt/bin/pip", "install", *offline, "/usr/src/gantt")
        self.run("/usr/src/gantt/devstack/deploy/systemd/install.sh")

    def property(self, unit: str, name: str) -> str:
        """Return a property of a unit, such as MainPID or NRestarts."""
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).stdout.strip()

    def workers(self, unit: str) -> set[int]:
        """Return the worker processes of a unit's master, by the machine's process ids."""
        master = self.property(unit, "MainPID")
        return {int(pid) for pid in self.run("pgrep", "--parent", master, check=False).stdout.split()}

    def journal(self, unit: str) -> str:
        """Return the journal of a unit."""
        return self.run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}").stdout

    def start(self, *units: str) -> None:
        """Start units and wait until each is ready; raises AssertionError with their journals otherwise."""
        self.run("systemctl", "start", "--no-block", *units)
        try:
            self.eventually(lambda: self._settled(units), f"units {units}")
        except AssertionError as late:
            raise AssertionError("\n".join(f"--- {unit}\n{self.journal(unit)}" for unit in units)) from late

    def _settled(self, units: tuple[str, ...]) -> bool:
        states = {unit: self.property(unit, "ActiveState") for unit in units}
        for unit, state in states.items():
            restarts = self.property(unit, "NRestarts")
            assert state != "failed" and restarts in {"", "0", "1", "2"}, f"{unit}: {state}, restarted {restarts}x"
        return set(states.values()) == {"active"}

    def eventually(self, condition: Callable[[], Answer], what: str) -> Answer:
        """Return the first true answer of ``condition``."""
        deadline = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < deadline:
            answer = condition()
            if answer:
                return answer
            time.sleep(0.1)
        raise AssertionError(f"Never came: {what}\n{self._console.read_text(errors='replace')}")

    def lose_power(self) -> None:
        """Kill every process at once; a machine that keeps its changes can boot again."""
        assert self._nspawn is not None
        os.kill(self._leader, signal.SIGKILL)
        self._nspawn.wait(60)
        self._nspawn, self._leader = None, 0
        cgroups.remove(self._groups)

    def halt(self) -> None:
        """Shut down and end every process of the machine."""
        if self._nspawn is None:
            return
        if self._leader:
            # SIGRTMIN+4 powers systemd off; remaining processes are killed with the first process.
            with contextlib.suppress(ProcessLookupError):  # a boot that failed
                os.kill(self._leader, signal.SIGRTMIN + 4)
        try:
            self._nspawn.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._nspawn.pid, signal.SIGKILL)
            self._nspawn.wait()
        cgroups.remove(self._groups)
