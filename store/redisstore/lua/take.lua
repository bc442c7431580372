
-- Decides requests in the order in which they came. Each is granted whole or not at
-- all, and nothing is written for one that is denied, but its denials where they are
-- counted.
--
-- KEYS: every state and record that the requests are about, once each.
-- ARGV: a description of each key, and then of each request:
--   copies, n, and n times: key, cost, options. Options is 0, or 1 and is followed by:
--   extra, max delay, shadow, shapes, record (the number of a key, or 0), slot, hold
-- A request of several copies is as many requests that are alike.

local keys, p = take_in(1)
local reply = found(keys)
if lost then return reply end

-- fill grants as many copies of a request as fit: its keys differ, and it asks for
-- nothing but its costs.
local function fill(copies, list)
  for i = 1, #list do
    local c = list[i]
    if c.key.kind == 'z' then return end
    if c.cost > 0 then copies = min(copies, floor(c.key.free / c.cost)) end
  end
  if copies <= 0 then return end
  for i = 1, #list do
    local k, units = list[i].key, copies * list[i].cost
    k.used, k.free = k.used + units, k.free - units
  end
end

while p <= #ARGV do
  local copies, n = num(ARGV[p]), num(ARGV[p + 1])
  local list, plain = {}, true
  p = p + 2
  for i = 1, n do
    local c = {key = keys[num(ARGV[p])], cost = num(ARGV[p + 1]), extra = 0, delay = 0, shadow = false}
    if ARGV[p + 2] == '0' then
      p = p + 3
    else
      plain = false
      c.extra, c.delay = num(ARGV[p + 3]), num(ARGV[p + 4])
      c.shadow, c.shapes, c.record = ARGV[p + 5] == '1', ARGV[p + 6] == '1', keys[num(ARGV[p + 7])]
      c.slot, c.hold = ARGV[p + 8], num(ARGV[p + 9])
      p = p + 10
    end
    list[i] = c
  end
  if plain then fill(copies, list) else decide(list) end
end

for i = 1, #keys do
  local k = keys[i]
  if k.used > 0 or k.stale or k.kind == 'p' then write[k.kind](k) end
end
return reply
