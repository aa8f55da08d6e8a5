# SPDX-License-Identifier: Apache-2.0
"""gantt-placement in the shadow of another Placement: it gets the same requests, and its answers are compared."""
