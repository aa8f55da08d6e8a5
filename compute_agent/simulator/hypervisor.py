# SPDX-License-Identifier: Apache-2.0
"""Simulated hypervisor: guests are small files that outlive the agent; failures are random and seeded."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from compute_agent import state_files
from compute_agent.attempt import AttemptRef
from compute_agent.clock import Clock, wall_ms
from compute_agent.simulator.profile import HostProfile

_SUFFIX = ".json"


class SpawnFailed(Exception):
    """Raised when a guest cannot be started; it leaves no file."""


@dataclass(frozen=True, slots=True)
class Guest:
    """A guest; it is building until ``running_at_ms`` (Unix time), then running."""

    uuid: str
    attempt: int
    name: str
    running_at_ms: int

    @property
    def ref(self) -> AttemptRef:
        """Identity of the attempt that started the guest."""
        return AttemptRef(self.uuid, self.attempt)


class Hypervisor:
    """The guests of one service host. Capacity is checked by the resource tracker, not here."""

    def __init__(self, folder: Path, profile: Callable[[], HostProfile], clock: Clock = wall_ms) -> None:
        self._folder = folder
        self._profile = profile
        self._clock = clock
        self._guests: dict[str, Guest] = {}

    def open(self) -> None:
        """Read the guests' files; raises OSError, and ValueError for a malformed file."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if not path.name.startswith("."):
                guest = _read(path)
                self._guests[guest.uuid] = guest

    def list(self) -> list[Guest]:
        """Return all guests, building or running."""
        return list(self._guests.values())

    def get(self, ref: AttemptRef) -> Guest | None:
        """Return the guest of an attempt, or None."""
        guest = self._guests.get(ref.uuid)
        return guest if guest is not None and guest.ref == ref else None

    def refuses(self, ref: AttemptRef) -> bool:
        """Whether the simulated host refuses this attempt."""
        return self._profile().refuses(ref)

    def spawn(self, ref: AttemptRef, name: str) -> Guest:
        """Start a guest, or return the existing guest of this attempt.

        Raises SpawnFailed, also when a guest of another attempt of this instance exists; that must be stopped first.
        """
        existing = self._guests.get(ref.uuid)
        if existing is not None:
            if existing.ref == ref:
                return existing
            raise SpawnFailed(f"attempt {existing.attempt} of the instance still runs on {existing.name}")
        profile = self._profile()
        if profile.spawn_fails(ref):
            raise SpawnFailed("simulated spawn failure")
        running_at = self._clock() + round(1000 * profile.boot_seconds(ref.uuid))
        guest = Guest(ref.uuid, ref.attempt, name, running_at)
        state_files.replace(self._path(ref.uuid), json.dumps(asdict(guest)))
        self._guests[ref.uuid] = guest
        return guest

    def stop(self, ref: AttemptRef) -> None:
        """Stop the guest of an attempt; does nothing when it does not exist or belongs to another attempt."""
        if self.get(ref) is not None:
            self._path(ref.uuid).unlink(missing_ok=True)
            del self._guests[ref.uuid]

    def _path(self, uuid: str) -> Path:
        return self._folder / f"{uuid}{_SUFFIX}"


def _read(path: Path) -> Guest:
    try:
        return Guest(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} is not a valid guest file: {error}") from error
