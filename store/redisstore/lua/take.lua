-- Decides requests in the order in which they came. Each is granted whole or not at
-- all, and nothing is written for one that is denied, but its denials where they are
-- counted.
--
-- KEYS: every state and record that the requests are about, once each.
-- ARGV: a description of each key, and then of each request:
--   copies, n, and n times: key, cost, options. Options is 0, or 1 and is followed by:
--   extra, max delay, shadow, shapes, record (the number of a key, or 0)
-- A request of several copies is as many requests that are alike.

local keys, p = take_in(1)
local reply = found(keys)
if lost then return reply end

-- waits reports whether a bucket grants a cost for a turn that is near enough.
local function waits(k, units, c)
  local level = k.spent + units * k.unit
  local room = k.capacity - c.cost * k.unit -- what may be spent for the cost to fit
  if c.cost * k.unit > k.capacity then return false end
  if c.cost == 0 then return true end
  if c.shapes then
    return level <= room and until_drained(k, level) <= c.delay
  end
  if level <= room then return true end
  return until_drained(k, level - room) <= c.delay and level <= EXACT - c.cost * k.unit
end

-- judge decides one charge on top of what the request's earlier ones want.
local function judge(c)
  local k = c.key
  if c.record and c.record.ends > now then
    c.blocked = true
    return false
  end
  if k.kind == 'z' then return false end
  local want = k.want or 0
  local free = k.free - want
  if k.kind == 'b' and (c.shapes or c.delay > 0) then
    if not waits(k, k.used + want, c) then return false end
  elseif c.cost > 0 and c.cost > free then
    return false
  end
  local extra = max(0, min(c.extra, free - c.cost))
  if c.shapes and c.cost == 0 then extra = 0 end
  c.units = c.cost + extra
  k.want = want + c.units
  return true
end

-- decide decides a request of one copy, whatever it asks for.
local function decide(list)
  local allowed = true
  for pass = 1, 2 do
    for i = 1, #list do
      local c = list[i]
      if c.shadow == (pass == 2) then
        c.granted = judge(c)
        if not c.granted and not c.shadow then allowed = false end
      end
    end
  end
  for i = 1, #list do
    local c = list[i]
    local k = c.key
    if allowed and c.granted then
      k.used, k.free = k.used + c.units, k.free - c.units
    end
    k.want = nil
  end
  for i = 1, #list do
    local c = list[i]
    if c.record and not c.granted and not c.blocked then count_denial(c.record) end
  end
end

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
      p = p + 8
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
