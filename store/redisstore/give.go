package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
)

// Give implements [core.Store]. In a cluster each place is asked at the same time.
func (s *Store) Give(ctx context.Context, refunds []core.Refund) error {
	s.letGo(refunds)
	var groups [][]core.Refund
	places := map[uint64]int{}
	for _, f := range refunds {
		if f.Units <= 0 {
			continue
		}
		g := uint64(0)
		if s.cluster != nil {
			g = group(&f.Key)
		}
		at, ok := places[g]
		if !ok {
			at = len(groups)
			places[g] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], f)
	}
	errs := make([]error, len(groups))
	var others sync.WaitGroup
	for i := 1; i < len(groups); i++ {
		others.Go(func() { errs[i] = s.giveGroup(ctx, groups[i]) })
	}
	if len(groups) > 0 {
		errs[0] = s.giveGroup(ctx, groups[0])
	}
	others.Wait()
	return errors.Join(errs...)
}

// giveGroup gives back what belongs to one slot.
func (s *Store) giveGroup(ctx context.Context, refunds []core.Refund) error {
	around := s.serverTime()
	for range tries {
		var sh sheet
		var calls []any
		for _, f := range refunds {
			name := s.name(&f.Key, formOf(f.Quota).letter)
			at := sh.find(name)
			if at < 0 {
				at = sh.addCell(cell{name: name, quota: f.Quota})
			}
			calls = append(calls, at+1, f.Units, f.Receipt.At, f.Receipt.Level, flag(f.Turn), flag(f.Quota.Spec().Shaper), slotName(f.Slot))
		}
		sh.script, sh.around = s.scripts.give, around
		value, err := s.run(ctx, s.scripts.give, append(sh.args(), calls...))
		if err != nil {
			return err
		}
		r := reply{}
		r.list, _ = value.([]any)
		now := r.next()
		if now != lost {
			return wrap(r.err)
		}
		if around = r.next(); r.err != nil {
			return wrap(r.err)
		}
	}
	return failure(errReply)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return failure(err)
}

// run runs a script of one slot, and loads it where it is not known.
func (s *Store) run(ctx context.Context, sc *script, args []any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for try := range tries {
		if try == 2 { // it keeps losing them
			args = append([]any{"eval", sc.text}, args[2:]...)
		}
		cmd := redis.NewCmd(ctx, args...)
		err := s.client.Process(ctx, once{cmd})
		if err == nil {
			return cmd.Result()
		}
		if !hasKind(err, "NOSCRIPT") {
			return nil, failure(err)
		}
		if err := s.loadScript(ctx, s.client, sc); err != nil {
			return nil, failure(err)
		}
	}
	return nil, failure(errReply)
}

// Reset implements [core.Store].
func (s *Store) Reset(ctx context.Context, charges []core.Charge) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	p := s.client.Pipeline()
	for i := range charges {
		k := &charges[i].Key
		p.Del(ctx, s.name(k, formOf(charges[i].Quota).letter), s.name(k, letterRecord))
	}
	if _, err := p.Exec(ctx); err != nil {
		return failure(err)
	}
	return nil
}

// Block implements [core.Store].
func (s *Store) Block(ctx context.Context, c core.Charge, span time.Duration) error {
	if c.Penalty == nil {
		return fmt.Errorf("redisstore: Block of limit %q, which has no penalty", c.Limit)
	}
	args := []any{"evalsha", s.scripts.block.sha, 1, s.name(&c.Key, letterRecord), max(0, span.Microseconds())}
	_, err := s.run(ctx, s.scripts.block, args)
	return err
}
