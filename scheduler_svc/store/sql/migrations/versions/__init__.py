# SPDX-License-Identifier: Apache-2.0
"""One step a file, in the order of their numbers."""
