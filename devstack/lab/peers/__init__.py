# SPDX-License-Identifier: Apache-2.0
"""lab.sh peers: the same work in Nova and Placement, which run in their own virtual environment."""
