# SPDX-License-Identifier: Apache-2.0
"""Provider trees and the exact search for allocation candidates."""
