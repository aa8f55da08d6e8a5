-- SPDX-License-Identifier: Apache-2.0
-- Binary heap: an array whose first item is the lowest by fields turn, at and name.

local function comes_before(a, b)
  if a.turn ~= b.turn then
    return a.turn < b.turn
  end
  if a.at ~= b.at then
    return a.at < b.at
  end
  return a.name < b.name
end

-- Moves the item at `index` down after it was replaced by a later one.
local function sift_down(heap, index)
  while true do
    local first = index
    for child = 2 * index, math.min(2 * index + 1, #heap) do
      if comes_before(heap[child], heap[first]) then
        first = child
      end
    end
    if first == index then
      return
    end
    heap[index], heap[first] = heap[first], heap[index]
    index = first
  end
end

local function heapify(items)
  for index = math.floor(#items / 2), 1, -1 do
    sift_down(items, index)
  end
  return items
end

local function remove_first(heap)
  heap[1] = heap[#heap]
  heap[#heap] = nil
  sift_down(heap, 1)
end
