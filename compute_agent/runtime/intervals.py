# SPDX-License-Identifier: Apache-2.0
"""Intervals between reports and retries of an agent."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AgentIntervals:
    """Intervals of the agent.

    Attributes:
        report_interval: Seconds between reports.
        retry_max: Maximum seconds before a retry.
        report_jitter: Maximum deviation from ``report_interval``, as a share of it.
    """

    report_interval: float = 10.0
    retry_max: float = 15.0
    report_jitter: float = 0.2
