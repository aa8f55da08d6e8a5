# SPDX-License-Identifier: Apache-2.0
"""Provider changes of the Placement API, and the plans that carry them out."""
