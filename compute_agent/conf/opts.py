# SPDX-License-Identifier: Apache-2.0
"""The agent's options for oslo-config-generator."""

from oslo_config import cfg

from compute_agent.conf import compute, hardware, shape, simulator


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    return [
        (compute.GROUP, compute.OPTS),
        (simulator.GROUP, simulator.OPTS),
        (f"{shape.PREFIX}NAME", shape.OPTS),
        (f"{hardware.PCI_PREFIX}NAME", hardware.PCI_OPTS),
        (f"{hardware.DEVICE_PREFIX}NAME", hardware.DEVICE_OPTS),
    ]
