# SPDX-License-Identifier: Apache-2.0
"""gantt-lab replay: replays a trace of requests through several drivers for comparison."""
