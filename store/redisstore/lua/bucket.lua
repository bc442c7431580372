  local limit, unit, tick, capacity, mark, cost, copies = unpack('>I7I7I7I7Bc0I7I4', arg)
  local s, n = call('GET', key), #mark
  local spent, at, found = 0, now - now % tick, ''
  if not s or sub(s, 1, n) == mark then
    if s then
      local w, there = #s - n
      there, spent = unpack(w == 11 and '>I7I4' or w == 13 and '>I7I6' or '>I7I7', s, n + 1)
      if at > there then
        spent = spent - (at - there) / tick * limit -- rounded when it is large, and never above 0 then
        if spent < 0 then spent = 0 end
      else
        at = there
      end
    end
    local room, units = capacity - spent, unit * cost
    local fit = room / units
    if fit < copies then
      copies = fit - fit % 1
      if copies * units > room then copies = copies - 1 end -- the quotient was rounded up
    end
    if copies > 0 then
      local x = spent + units * copies
      local left = (at - now + x / limit * tick + tick + 2) / 1000 -- a hair more than it takes to drain
      call('SET', key, mark .. pack(x < 4294967296 and '>I7I4' or x < 281474976710656 and '>I7I6' or '>I7I7', at, x), 'PX', ceil(left))
    end
    found = pack('>I7I7I7', now, spent, at)
  end
