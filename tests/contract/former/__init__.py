# SPDX-License-Identifier: Apache-2.0
"""The contract of the former release as it was recorded, and peers that are made from it."""
