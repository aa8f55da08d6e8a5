# SPDX-License-Identifier: Apache-2.0
"""Provider changes of the Placement API, and the writes that each needs."""
