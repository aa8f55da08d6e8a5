# SPDX-License-Identifier: Apache-2.0
"""What a scheduler must know of an agent's nodes."""

from tests.support.agent.rig import NODES, AgentRig


def truth(rig: AgentRig) -> dict[str, object]:
    assert rig.guest_manager is not None
    return {
        node.name: {
            "inventories": {
                "VCPU": {
                    "total": 8,
                    "reserved": 0,
                    "min_unit": 1,
                    "max_unit": 2**31 - 1,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                },
                "MEMORY_MB": {
                    "total": 8192,
                    "reserved": 512,
                    "min_unit": 1,
                    "max_unit": 2**31 - 1,
                    "step_size": 1,
                    "allocation_ratio": 1.0,
                },
            },
            "traits": ["HW_CPU_X86_AVX2"],
            "availability_zone": "zone1",
            "metrics": {
                "instances": rig.guest_manager.tracker.instances()[node.name],
                "io_ops": sum(
                    attempt.live and attempt.name == node.name for attempt in rig.guest_manager.journal.unreported()
                ),
                "failed_builds": 0,
            },
        }
        for node in NODES
    }
