# SPDX-License-Identifier: Apache-2.0
"""lab.sh peers: the same work done by Nova and Placement, each in a virtual environment of its own."""
