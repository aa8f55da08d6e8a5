# SPDX-License-Identifier: Apache-2.0
"""An agent whose clock was an hour ahead while a guest began to boot, and steps back, reports the guest as ACTIVE.

It waited for the hour, and the instance was in ERROR "Host unreachable, claim kept" although it ran.
"""

from pathlib import Path

from tests.support.agent.rig import AgentRig, ScriptedProfile

HOUR_MS = 3_600_000


def test_guest_of_a_clock_that_was_ahead_is_reported(tmp_path: Path) -> None:
    rig = AgentRig(tmp_path, ScriptedProfile(boot_delay=1.0))
    rig.serve()
    rig.clock.now += HOUR_MS
    rig.build(rig.intent("a"))
    rig.queue.run()
    # When the agent's clock steps back while the guest boots, and the agent looks at it again
    rig.clock.now -= HOUR_MS
    begun = rig.clock.now
    rig.host.advance()
    rig.queue.run()
    # Then the conductor learns at once that it runs
    assert rig.conductor.outcomes == {("a", 1): ["active"]}
    assert rig.clock.now == begun
    rig.stop()
