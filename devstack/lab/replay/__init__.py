# SPDX-License-Identifier: Apache-2.0
"""gantt-lab replay: a trace of requests, gone through with each driver side by side."""
