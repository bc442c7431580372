package storetest

import (
	"fmt"
	"math/rand/v2"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// An account is one key of one limit: a charge without its numbers.
type account struct {
	limit   string
	key     core.Key
	quota   *algo.Quota
	penalty *algo.Penalty
}

func (a account) charge(cost int64) core.Charge {
	return core.Charge{Key: a.key, Limit: a.limit, Quota: a.quota, Penalty: a.penalty, Cost: cost}
}

func (a account) refund(units int64, receipt algo.Receipt) core.Refund {
	return core.Refund{Key: a.key, Limit: a.limit, Quota: a.quota, Units: units, Receipt: receipt}
}

// under returns the account as it is once its caller has another quota.
func (a account) under(q *algo.Quota) account {
	a.quota = q
	return a
}

func (a account) with(p algo.Penalty) account {
	a.penalty = &p
	return a
}

// randomKey returns a key that nobody has used.
func randomKey() core.Key {
	return core.Key{Hi: rand.Uint64(), Lo: rand.Uint64(), Tag: rand.Uint64()}
}

func shadowed(c core.Charge) core.Charge {
	c.Shadow = true
	return c
}

// describe names a charge in messages.
func describe(c core.Charge) string {
	text := fmt.Sprintf("%s of %s", costText(c), quotaText(c.Quota))
	if c.Shadow {
		text = "shadow " + text
	}
	if c.MaxDelay > 0 {
		text += fmt.Sprintf(", waiting up to %v", c.MaxDelay)
	}
	return text
}

func costText(c core.Charge) string {
	if c.Extra > 0 {
		return fmt.Sprintf("%d+%d", c.Cost, c.Extra)
	}
	return fmt.Sprint(c.Cost)
}

func quotaText(q *algo.Quota) string {
	s := q.Spec()
	text := fmt.Sprintf("%v %d/%v", s.Algorithm, s.Limit, s.Period)
	if q.Capacity() != s.Limit {
		text += fmt.Sprintf(" holding %d", q.Capacity())
	}
	return text
}
