# SPDX-License-Identifier: Apache-2.0
"""Nova cloud on this machine, with gantt or Nova's own services in each role."""
