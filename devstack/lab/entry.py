# SPDX-License-Identifier: Apache-2.0
"""The console script ``gantt-lab``."""

from rpcapi import entry


def main() -> int:
    """Run ``gantt-lab``; return its exit code."""
    return entry.run("gantt-lab", "lab", "devstack.lab.main:main", needs=["numpy", "redis", "jsonschema", "tqdm"])
