
-- Gives units back to where they were counted, as far as they still are.
--
-- KEYS: every state that the refunds are about, once each.
-- ARGV: a description of each key, and then of each refund:
--   key, units, instant and level of the receipt, turn, shapes, slot

local keys, p = take_in(1)
if lost then return {-1, lost} end

local give = {}

function give.b(k, r)
  if k.missing or k.stale and k.old_unit ~= k.unit then return end
  local left = r.level
  if k.at > r.at then
    local gone = floor((k.at - r.at) / k.tick) * k.limit
    left = gone >= left and 0 or left - gone
  end
  if (r.turn or r.shapes) and k.spent ~= left then return end
  local back = min(left, k.spent)
  if r.units <= floor(back / k.unit) then back = r.units * k.unit end
  if back <= 0 then return end
  -- Only a grant moves time on: what was stored keeps its instant.
  local spent, at = k.spent, k.at
  if not k.stale then spent, at = k.spent0, k.at0 end
  k.stale, k.changed = false, true
  k.spent0, k.at0 = spent - back, at
  k.spent, k.at = drain(k.spent0, k.at0, k.limit, k.tick)
end

function give.f(k, r)
  if k.spent == 0 or k.stop ~= r.at then return end
  k.spent, k.changed = k.spent - min(r.units, k.spent), true
end

function give.s(k, r)
  if k.missing or k.stale or r.at < k.start - k.period then return end
  if r.at == k.start0 and k.cur0 > 0 then
    k.cur0 = k.cur0 - min(r.units, k.cur0)
  elseif r.at == k.start0 - k.period and k.prev0 > 0 then
    k.prev0 = k.prev0 - min(r.units, k.prev0)
  else
    return
  end
  k.changed = true
end

-- place returns where in a list the entry of an instant is, or nil. Receipts are
-- young, so it looks from the newest.
local function place(key, at)
  local stop = call('LLEN', key) - 3
  while stop > 0 do
    local from = max(0, stop - 2 * CHUNK)
    local part = call('LRANGE', key, from, stop - 1)
    for i = #part - 1, 1, -2 do
      local there = num(part[i])
      if there < at then return end
      if there == at and num(part[i + 1]) > 0 then return from + i - 1, num(part[i + 1]) end
    end
    stop = from
  end
end

-- take_back takes units out of entries in hand.
local function take_back(k, r)
  local list = k.entries
  for i = #list - 1, 1, -2 do
    if list[i] < r.at then return end
    if list[i] == r.at and list[i + 1] > 0 then
      local back = min(r.units, list[i + 1])
      list[i + 1], k.sum, k.spent = list[i + 1] - back, k.sum - back, k.spent - back
      k.changed = true
      if list[i + 1] == 0 and i < #list - 1 then
        table.remove(list, i)
        table.remove(list, i)
      end
      return
    end
  end
end

function give.l(k, r)
  if k.missing or k.gone or r.at + k.life <= k.judged then return end
  if k.entries then return take_back(k, r) end
  local i, held = place(k.key, r.at)
  if not i then return end
  local back = min(r.units, held)
  k.sum, k.spent = k.sum - back, k.spent - back
  if k.spent == 0 then
    call('DEL', k.key)
    k.gone = true
    return
  end
  call('LSET', k.key, -3, k.sum)
  if back < held or i == call('LLEN', k.key) - 5 then -- the newest keeps the time
    call('LSET', k.key, i + 1, held - back)
  else
    call('LSET', k.key, i, 'gone')
    call('LSET', k.key, i + 1, 'gone')
    call('LREM', k.key, -2, 'gone')
  end
end

function give.q(k, r)
  for n = 1, r.units do call('ZREM', k.key, r.slot .. ':' .. n) end
end

local put = {}

function put.b(k) put_bucket(k, k.spent0, k.at0) end
function put.s(k) put_sliding(k, k.prev0, k.cur0, k.start0) end
put.f = write_fixed

while p <= #ARGV do
  local k = keys[num(ARGV[p])]
  local r = {units = num(ARGV[p + 1]), at = num(ARGV[p + 2]), level = num(ARGV[p + 3]), turn = ARGV[p + 4] == '1', shapes = ARGV[p + 5] == '1', slot = ARGV[p + 6]}
  if r.units > 0 and k.kind ~= 'z' then give[k.kind](k, r) end
  p = p + 7
end

for i = 1, #keys do
  local k = keys[i]
  if k.kind == 'l' then
    if k.entries then
      if k.changed and k.spent == 0 then call('DEL', k.key) else write_log(k) end
    end
  elseif k.changed then
    put[k.kind](k)
  end
end
return {now}
