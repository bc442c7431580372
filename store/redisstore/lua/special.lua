
-- Requests that ask for more than their costs: units as far as they go, a later turn,
-- a decision that is only reported, a penalty, one key twice.

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
      if k.takes and c.units > 0 then k.takes[#k.takes + 1] = c end
    end
    k.want = nil
  end
  for i = 1, #list do
    local c = list[i]
    if c.record and not c.granted and not c.blocked then count_denial(c.record) end
  end
end
