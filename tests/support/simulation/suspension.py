# SPDX-License-Identifier: Apache-2.0
"""Suspension of an agent at a step, as by SIGSTOP: everything else runs on until it resumes at that step."""

from collections.abc import Callable

from tests.support.agent.rig import KillSwitch


class AgentSwitch(KillSwitch):
    """Kills an agent at a step since its start, and suspends it at a step from now on.

    ``pause`` returns when the agent resumes.
    """

    def __init__(self, at: int = 0) -> None:
        super().__init__(at)
        self._steps_left = 0
        self._pause: Callable[[], None] | None = None

    def suspend_after(self, steps: int, pause: Callable[[], None]) -> None:
        self._steps_left, self._pause = steps, pause

    def step(self) -> None:
        super().step()
        self._steps_left -= 1
        if self._steps_left <= 0 and self._pause is not None:
            pause, self._pause = self._pause, None
            pause()
