-- SPDX-License-Identifier: Apache-2.0
-- Amounts that an agent reports for the guest of a claim; see store/allocations.py.

-- Returns whether `second` contains all amounts of `first`.
local function has_amounts_of(first, second)
  for provider, amounts in pairs(first) do
    for class, amount in pairs(amounts) do
      if not second[provider] or second[provider][class] ~= amount then
        return false
      end
    end
  end
  return true
end

local function is_same_allocations(first, second)
  return has_amounts_of(first, second) and has_amounts_of(second, first)
end

-- Returns the amounts that the guest uses by its agent's last audit; without one, the claim's.
local function reported_allocations(claim)
  return type(claim.reported) == 'table' and claim.reported or claim.allocations
end

-- Sets a claim's allocations, and the amounts that its agent reports if they differ.
local function set_allocations(claim, allocations, reported)
  claim.allocations = allocations
  claim.reported = not is_same_allocations(reported, allocations) and reported or nil
end
