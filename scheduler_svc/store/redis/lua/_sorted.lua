-- SPDX-License-Identifier: Apache-2.0
-- Sorting of keys, so that scripts and Python verbs return the same refusal.

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end
