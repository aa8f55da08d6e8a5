# SPDX-License-Identifier: Apache-2.0
"""The console scripts of the scheduler and of Placement's API."""

import warnings

from rpcapi import entry


def main() -> int:
    """Run ``gantt-scheduler``; return its exit code."""
    return entry.run(
        "gantt-scheduler", "scheduler", "scheduler_svc.cmd.scheduler:main", needs=["numpy", "redis", "jsonschema"]
    )


def placement() -> int:
    """Run ``gantt-placement``; return its exit code."""
    return entry.run(
        "gantt-placement",
        "placement",
        "scheduler_svc.cmd.placement:main",
        needs=[
            "numpy",
            "redis",
            "jsonschema",
            "fastjsonschema",
            "cheroot",
            "keystonemiddleware",
            "oslo_policy",
            "orjson",
            "webob",
        ],
    )


def nova_bridge() -> int:
    """Run ``gantt-nova-bridge``; return its exit code."""
    return entry.run(
        "gantt-nova-bridge",
        "nova",
        "scheduler_svc.cmd.nova_bridge:main",
        needs=["numpy", "redis", "jsonschema", "sqlalchemy"],
    )


def placement_import() -> int:
    """Run ``gantt-placement-import``; return its exit code."""
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")  # a library imports it, nothing uses it
    return entry.run(
        "gantt-placement-import",
        "placement",
        "scheduler_svc.cmd.placement_import:main",
        needs=["numpy", "redis", "sqlalchemy", "tqdm", "keystoneauth1", "microversion_parse"],
    )


def nova_config() -> int:
    """Run ``gantt-nova-config``; return its exit code."""
    return entry.run("gantt-nova-config", "scheduler", "scheduler_svc.cmd.nova_config:main", needs=["jsonschema"])


def placement_shadow() -> int:
    """Run ``gantt-placement-shadow``; return its exit code."""
    return entry.run(
        "gantt-placement-shadow",
        "placement",
        "scheduler_svc.cmd.placement_shadow:main",
        needs=["cheroot", "urllib3"],
    )
