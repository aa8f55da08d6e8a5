# SPDX-License-Identifier: Apache-2.0
"""lab.sh replay: replays a trace of requests through several drivers for comparison."""
