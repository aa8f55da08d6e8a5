# SPDX-License-Identifier: Apache-2.0
"""What several suites share: fakes, private servers, clusters, and the settings of a run."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
