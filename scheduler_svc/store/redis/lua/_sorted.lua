-- SPDX-License-Identifier: Apache-2.0
-- Sorted keys, for the same order as in the Python verbs.

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end
