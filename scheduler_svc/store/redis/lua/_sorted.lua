-- SPDX-License-Identifier: Apache-2.0
-- Keys in order, so that scripts visit them as the verbs in Python do.

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return keys
end
