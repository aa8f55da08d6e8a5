# SPDX-License-Identifier: Apache-2.0
"""Shadow of another Placement: a proxy that repeats its requests on gantt-placement and compares the answers."""
