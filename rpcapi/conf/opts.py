# SPDX-License-Identifier: Apache-2.0
"""The contract's options, for the generated sample file."""

from oslo_config import cfg

from rpcapi.conf import flavors, rpc, scheduler_client, transport, upgrade_levels


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return the options by group, as oslo-config-generator asks for them."""
    return [(module.GROUP, module.OPTS) for module in (transport, rpc, scheduler_client, upgrade_levels, flavors)]
