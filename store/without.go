package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/core/algo"
)

// A job is a call of which the store has failed to decide some charges. The others
// have been decided as one.
type job struct {
	charges []core.Charge
	results []core.Result
	failed  []int
	err     error
	commit  bool
}

func (j *job) hasFailed(i int) bool { return slices.Contains(j.failed, i) }

// without decides the failed charges by their policies.
func (f *Failsafe) without(ctx context.Context, j *job) error {
	for _, i := range j.failed {
		j.results[i] = core.Result{Granted: true, Unknown: true}
	}
	if j.isDenied() {
		return nil // by what could be decided, so nothing was spent
	}
	var local []int
	for _, i := range j.failed {
		switch f.policy(&j.charges[i]) {
		case core.FailClosed:
			if !j.charges[i].Shadow {
				f.undo(ctx, j)
				return j.refusal()
			}
		case core.FailLocal:
			local = append(local, i)
		}
	}
	if len(local) == 0 {
		return nil
	}
	if err := f.decideHere(ctx, j, local); err != nil {
		return err
	}
	if j.isDenied() {
		f.undo(ctx, j)
	}
	return nil
}

// refusal is the error of a call of which nothing stands.
func (j *job) refusal() error {
	var failure *core.StoreError
	if !errors.As(j.err, &failure) || failure.Failed == nil {
		return j.err
	}
	whole := *failure
	whole.Failed = nil
	return &whole
}

func (f *Failsafe) policy(c *core.Charge) core.FailurePolicy {
	if c.Policy == core.FailDefault {
		return f.config.Policy
	}
	return c.Policy
}

func (j *job) isDenied() bool {
	for i := range j.charges {
		if !j.results[i].Granted && !j.charges[i].Shadow {
			return true
		}
	}
	return false
}

// undo gives back what the store took before others said no.
func (f *Failsafe) undo(ctx context.Context, j *job) {
	if !j.commit {
		return
	}
	var list []core.Refund
	for i := len(j.charges) - 1; i >= 0; i-- {
		c, r := &j.charges[i], &j.results[i]
		if j.hasFailed(i) || !r.Granted || c.Cost+r.Extra == 0 {
			continue
		}
		list = append(list, core.Refund{
			Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: c.Cost + r.Extra,
			Receipt: r.Receipt, Slot: c.Slot, Turn: r.Delay > 0,
		})
		r.Remaining = min(c.Quota.Capacity(), r.Remaining+c.Cost+r.Extra)
		r.Extra, r.Delay, r.Receipt = 0, 0, algo.Receipt{}
	}
	if len(list) > 0 {
		_ = f.inner.Give(context.WithoutCancel(ctx), list) // what is lost stays charged
	}
}

// totalKey counts all requests that local limits decide.
var totalKey = core.Key{Hi: math.MaxUint64, Lo: math.MaxUint64, Tag: math.MaxUint64}

// decideHere decides the charges of local limits in this process's memory, as one.
func (f *Failsafe) decideHere(ctx context.Context, j *job, local []int) error {
	charges := make([]core.Charge, 0, len(local)+1)
	for _, i := range local {
		c := j.charges[i]
		c.Quota = f.share(&c)
		charges = append(charges, c)
	}
	if f.config.Total != nil {
		charges = append(charges, core.Charge{Key: totalKey, Limit: "local_total", Quota: f.config.Total, Cost: 1})
	}
	results := make([]core.Result, len(charges))
	call := f.local.Take
	if !j.commit {
		call = f.local.Peek
	}
	if err := call(ctx, charges, results); err != nil {
		return err
	}
	for n, i := range local {
		r := results[n]
		if r.Receipt != (algo.Receipt{}) {
			r.Receipt.At = -r.Receipt.At // known by that as counted here, see Give
		}
		j.results[i] = r
	}
	if f.config.Total == nil || results[len(local)].Granted {
		return nil
	}
	wait := results[len(local)].RetryAfter
	for _, i := range local {
		r := &j.results[i]
		r.Granted, r.Remaining, r.RetryAfter = false, 0, max(wait, r.RetryAfter)
		r.NextAfter, r.ResetAfter = max(wait, r.NextAfter), max(wait, r.ResetAfter)
	}
	return nil
}

// localRefund is a refund of what was charged here.
func (f *Failsafe) localRefund(r core.Refund) core.Refund {
	r.Receipt.At = -r.Receipt.At
	r.Quota = f.share(&core.Charge{Limit: r.Limit, Quota: r.Quota})
	return r
}

// A shareKey names this process's share of a quota.
type shareKey struct {
	quota     *algo.Quota
	instances int   // 0: the configured fraction
	cost      int64 // that must fit
}

// share returns what a charge's quota becomes here: its part of the numbers, rounded
// up, and never below the limit's largest cost, or 1.
func (f *Failsafe) share(c *core.Charge) *algo.Quota {
	key := shareKey{quota: c.Quota, cost: min(f.largest(c), c.Quota.Capacity())}
	if f.config.Instances != nil {
		key.instances = max(0, f.config.Instances())
	}
	if q, ok := f.shares.Load(key); ok {
		return q.(*algo.Quota)
	}
	q, _ := f.shares.LoadOrStore(key, f.newShare(key))
	return q.(*algo.Quota)
}

// largest returns the largest cost that the limit has been charged here.
func (f *Failsafe) largest(c *core.Charge) int64 {
	v, ok := f.costs.Load(c.Limit)
	if !ok {
		v, _ = f.costs.LoadOrStore(c.Limit, new(atomic.Int64))
	}
	most := v.(*atomic.Int64)
	for {
		old := most.Load()
		if c.Cost <= old || most.CompareAndSwap(old, c.Cost) {
			return max(old, c.Cost)
		}
	}
}

func (f *Failsafe) newShare(k shareKey) *algo.Quota {
	s := k.quota.Spec()
	part := func(n int64) int64 {
		if n == 0 {
			return 0
		}
		if k.instances > 0 {
			return max(1, (n+int64(k.instances)-1)/int64(k.instances))
		}
		// A hair less, lest 0.1 of 30 become 4.
		return max(1, min(n, int64(math.Ceil(float64(n)*f.config.Fraction*(1-1e-12)))))
	}
	capacity := max(k.cost, part(k.quota.Capacity()))
	s.Limit = part(s.Limit)
	switch s.Algorithm {
	case algo.TokenBucket:
		s.Burst = capacity
	case algo.LeakyBucket:
		s.Queue = capacity - 1
	default:
		s.Limit = max(s.Limit, capacity)
	}
	if k.quota.Capacity() == 0 {
		return k.quota // 0 stays 0
	}
	q, err := algo.Compile(s)
	if err != nil {
		return k.quota // cannot be told exactly in smaller numbers
	}
	return q
}
