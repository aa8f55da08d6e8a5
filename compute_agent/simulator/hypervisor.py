# SPDX-License-Identifier: Apache-2.0
"""Simulated hypervisor: guests are small files that outlive the agent; failures come from a seed."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from oslo_log import log

from compute_agent import state_files
from compute_agent.attempt import AttemptRef
from compute_agent.clock import Clock, wall_ms
from compute_agent.newer_state import check_fields, without_empty
from compute_agent.simulator.copy import SimulatedCopy, monotonic_ms
from compute_agent.simulator.profile import HostProfile

LOG = log.getLogger(__name__)

_ATTEMPT = "@"  # separates uuid and attempt in the name of a guest's file
_SUFFIX = ".json"
_DAMAGED = ".damaged"  # appended after _SUFFIX


class SpawnFailed(Exception):
    """Raised when a guest cannot be started; it leaves no file."""


@dataclass(frozen=True, slots=True)
class Guest:
    """Guest that builds until ``running_at_ms`` (Unix time), then runs unless powered off or paused.

    Attributes:
        disk: Number of the rebuild that created the disk; 0 if none.
        image: Id or name of the rebuild's image; "" for the build request's image.
    """

    uuid: str
    attempt: int
    name: str
    running_at_ms: int
    is_off: bool = False
    disk: int = 0
    is_paused: bool = False
    image: str = ""

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.uuid, self.attempt)


def _allow() -> None:
    """Allow every start: default of ``before_start``."""


class Hypervisor:
    """Guests of a service host; the resource tracker checks capacity."""

    def __init__(
        self, folder: Path, profile: Callable[[], HostProfile], clock: Clock = wall_ms, copy_clock: Clock = monotonic_ms
    ) -> None:
        self._folder = folder
        self.profile = profile
        self._clock = clock
        self.copy_clock = copy_clock
        self._guests: dict[AttemptRef, Guest] = {}
        self.copies: dict[AttemptRef, SimulatedCopy] = {}  # copies in progress; a restart of the agent interrupts them

    def open(self) -> list[str]:
        """Read the guests' files; return the instances with damaged files, renamed to ``*.damaged``.

        A damaged file means that the guest was lost in a power loss. Raises NewerState, OSError.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        damaged = []
        for path in list(self._folder.glob(f"*{_SUFFIX}")):
            if path.name.startswith("."):
                continue
            try:
                guest = _read(path)
            except ValueError as error:
                LOG.error("%s; renaming it to %s%s", error, path.name, _DAMAGED)
                path.replace(path.with_name(path.name + _DAMAGED))
                damaged.append(path.stem.partition(_ATTEMPT)[0])
            else:
                self._guests[guest.ref] = guest
        if damaged:
            state_files.sync_folder(self._folder)
        return damaged

    def list(self) -> list[Guest]:
        return list(self._guests.values())

    def get(self, ref: AttemptRef) -> Guest | None:
        return self._guests.get(ref)

    def is_on(self, ref: AttemptRef) -> bool:
        """Return whether the attempt has a guest that is neither off nor paused."""
        guest = self.get(ref)
        return guest is not None and not guest.is_off and not guest.is_paused

    def boot_ms(self, ref: AttemptRef) -> int | None:
        """Return the ms until the attempt's guest has booted, 0 if it has; None without a guest.

        A remainder longer than the whole boot means that the clock stepped back: the guest counts as booted.
        """
        guest = self.get(ref)
        if guest is None:
            return None
        remaining = guest.running_at_ms - self._clock()
        return remaining if 0 < remaining <= round(1000 * self.profile().boot_seconds(ref.uuid)) else 0

    def spawn(
        self, ref: AttemptRef, name: str, *, is_off: bool = False, before_start: Callable[[], None] = _allow
    ) -> None:
        """Start a guest unless it runs already; its file is on disk on return.

        A paused guest continues without a boot. Raises SpawnFailed if the simulation says so or another attempt's guest
        of the instance runs, and OSError if the file cannot be written; then the guest does not exist.

        Args:
            is_off: Create the guest powered off.
            before_start: Called first; prevents the start by raising.
        """
        before_start()
        self._check_no_other_runs(ref)
        existing = self.get(ref)
        if existing is not None:
            if not is_off:
                self._continue(existing)
            return
        if self.profile().spawn_fails(ref):
            raise SpawnFailed("simulated spawn failure")
        self._create(Guest(ref.uuid, ref.attempt, name, self._boot_end(ref), is_off))

    def receive(self, ref: AttemptRef, name: str, *, before_start: Callable[[], None] = _allow) -> None:
        """Create a paused guest for a copy to fill; arguments and errors as in ``spawn``."""
        before_start()
        self._check_no_other_runs(ref)
        if self.get(ref) is None:
            self._create(Guest(ref.uuid, ref.attempt, name, self._clock(), is_paused=True))

    def other_running(self, ref: AttemptRef) -> Guest | None:
        guests = (guest for guest in self._guests.values() if guest.uuid == ref.uuid and guest.ref != ref)
        return next((guest for guest in guests if self.is_on(guest.ref)), None)

    def _check_no_other_runs(self, ref: AttemptRef) -> None:
        other = self.other_running(ref)
        if other is not None:
            raise SpawnFailed(f"attempt {other.attempt} of the instance still runs on {other.name}")

    def pause(self, ref: AttemptRef) -> None:
        """Pause a running guest, which can then continue without a boot. Raises OSError."""
        guest = self.get(ref)
        if guest is not None and not guest.is_off and not guest.is_paused:
            self._save(replace(guest, is_paused=True))

    def begin_copy(self, ref: AttemptRef, number: int, memory_mb: int, disk_mb: int) -> None:
        now_ms = self.copy_clock()
        self.copies[ref] = SimulatedCopy.begin(self.profile(), (ref.uuid, number), memory_mb, disk_mb, now_ms)

    def power_off(self, ref: AttemptRef) -> None:
        """Power off an attempt's guest; no effect if it is off or missing. Raises OSError."""
        guest = self.get(ref)
        if guest is not None and not guest.is_off:
            self._save(replace(guest, is_off=True, is_paused=False))

    def rebuild(self, ref: AttemptRef, disk: int, image: str = "") -> None:
        """Power off an attempt's guest and replace its disk; ``image`` "" keeps the image. Raises OSError."""
        guest = self.get(ref)
        if guest is not None:
            self._save(replace(guest, is_off=True, is_paused=False, disk=disk, image=image or guest.image))

    def stop(self, ref: AttemptRef) -> None:
        if self.get(ref) is not None:
            self._path(ref).unlink(missing_ok=True)
            del self._guests[ref]

    def _create(self, guest: Guest) -> None:
        try:
            self._save(guest)
        except OSError:
            self._path(guest.ref).unlink(missing_ok=True)
            raise

    def _continue(self, guest: Guest) -> None:
        if guest.is_off:
            self._save(replace(guest, is_off=False, running_at_ms=self._boot_end(guest.ref)))
        elif guest.is_paused:
            self._save(replace(guest, is_paused=False))

    def _boot_end(self, ref: AttemptRef) -> int:
        return self._clock() + round(1000 * self.profile().boot_seconds(ref.uuid))

    def _save(self, guest: Guest) -> None:
        document = without_empty(asdict(guest), required=("running_at_ms",))
        state_files.replace(self._path(guest.ref), json.dumps(document))
        self._guests[guest.ref] = guest

    def _path(self, ref: AttemptRef) -> Path:
        return self._folder / f"{_file_name(ref)}{_SUFFIX}"


def _file_name(ref: AttemptRef) -> str:
    return f"{ref.uuid}{_ATTEMPT}{ref.attempt}"


def _read(path: Path) -> Guest:
    try:
        document = json.loads(path.read_bytes().decode())
        if isinstance(document, dict):
            check_fields(path, document, Guest.__dataclass_fields__)
        guest = Guest(**document)
        is_typed = all(type(getattr(guest, entry.name)) is entry.type for entry in fields(Guest))
        if _file_name(guest.ref) != path.stem or not is_typed:
            raise ValueError("it describes a guest other than the one in its file name")
    except (ValueError, TypeError) as error:
        raise ValueError(f"the guest file {path} is damaged: {error}") from error
    return guest
