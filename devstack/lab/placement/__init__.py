# SPDX-License-Identifier: Apache-2.0
"""gantt-placement beside OpenStack Placement and beside a server that does nothing, over HTTP."""
