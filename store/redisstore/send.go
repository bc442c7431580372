package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
)

// once is a command that the client must not repeat by itself: when its reply is
// lost nobody knows whether it has charged.
type once struct{ *redis.Cmd }

// NoRetry is asked by the client.
func (once) NoRetry() bool { return true }

// send carries a batch of requests to a server, and answers each.
func (s *Store) send(to caller, batch []*request) {
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	s.carry(ctx, to, s.arrange(batch))
	var lost []core.Refund
	for _, r := range batch {
		if !r.finish() { // nobody is there to hear it
			lost = append(lost, r.refunds()...)
			r.free()
		}
	}
	s.giveLater(lost)
}

// arrange puts requests on sheets: on one where nothing forbids it.
func (s *Store) arrange(batch []*request) []*sheet {
	var sheets []*sheet
	last := map[sheetKind]*sheet{}
	recordName := func(k *core.Key) string { return s.name(k, letterRecord) }
	for _, r := range batch {
		kind := sheetKind{commit: r.commit}
		if s.cluster != nil {
			kind.group = group(&r.charges[0].Key)
		}
		sh := last[kind]
		if sh == nil || !sh.fits(r, recordName) {
			sh = &sheet{around: s.serverTime()}
			last[kind] = sh
			sheets = append(sheets, sh)
		}
		sh.add(r, recordName)
	}
	for _, sh := range sheets {
		sh.script = s.scripts.choose(sh)
	}
	return sheets
}

type sheetKind struct {
	commit bool
	group  uint64
}

// serverTime guesses the server's time, µs.
func (s *Store) serverTime() int64 { return time.Now().UnixMicro() + s.offset.Load() }

// tries is how often a sheet is sent that the server did not run: when it does not
// know the script, has moved the keys, or needs to know other windows.
const tries = 4

// carry sends sheets until each has been answered or has failed.
func (s *Store) carry(ctx context.Context, to caller, sheets []*sheet) {
	for try := range tries {
		whole(sheets, try)
		cmds := s.exchange(ctx, to, sheets)
		var again []*sheet
		unknown := false
		for i, sh := range sheets {
			value, err := cmds[i].Result()
			switch {
			case err == nil:
				if !s.settle(sh, value) {
					again = append(again, sh)
				}
			case hasKind(err, "NOSCRIPT"):
				unknown = true
				again = append(again, sh)
			case s.cluster != nil && to != caller(s.cluster) && hasKind(err, "MOVED", "ASK", "READONLY"):
				s.redirect(ctx, sh)
			default:
				s.lose(sh, err)
			}
		}
		if len(again) == 0 {
			return
		}
		sheets = again
		if unknown {
			if err := s.load(ctx, to, sheets); err != nil {
				s.loseAll(sheets, err)
				return
			}
		}
	}
	s.loseAll(sheets, errReply)
}

// whole has a server that keeps losing its scripts sent their text: it cannot lose
// that between being taught and being asked.
func whole(sheets []*sheet, try int) {
	for _, sh := range sheets {
		sh.spelled = try >= 2
	}
}

// exchange sends one command for each sheet.
func (s *Store) exchange(ctx context.Context, to caller, sheets []*sheet) []*redis.Cmd {
	cmds := make([]*redis.Cmd, len(sheets))
	for i, sh := range sheets {
		cmds[i] = redis.NewCmd(ctx, sh.args()...)
	}
	if len(cmds) == 1 {
		_ = to.Process(ctx, once{cmds[0]}) // the command has its error
		return cmds
	}
	p := to.Pipeline()
	for _, c := range cmds {
		_ = p.Process(ctx, once{c})
	}
	_, _ = p.Exec(ctx)
	return cmds
}

// load teaches a server the scripts of the sheets.
func (s *Store) load(ctx context.Context, to caller, sheets []*sheet) error {
	seen := map[*script]bool{}
	for _, sh := range sheets {
		if seen[sh.script] {
			continue
		}
		seen[sh.script] = true
		if err := s.loadScript(ctx, to, sh.script); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loadScript(ctx context.Context, to caller, sc *script) error {
	if s.cluster != nil && to == caller(s.cluster) {
		return s.cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return node.ScriptLoad(ctx, sc.text).Err()
		})
	}
	return to.Process(ctx, redis.NewStringCmd(ctx, "script", "load", sc.text))
}

// redirect sends a sheet where the cluster has moved its keys: the client follows
// the directions.
func (s *Store) redirect(ctx context.Context, sh *sheet) {
	s.cluster.ReloadState(ctx)
	s.carry(ctx, s.cluster, []*sheet{sh})
}

// unable is what a lean script answers where it cannot run.
const unable = -2

// settle answers the requests of a sheet. It reports false when the server needs to
// be asked again: with other edges of windows, or with another script.
func (s *Store) settle(sh *sheet, value any) bool {
	if sh.script.lean {
		return s.settleLean(sh, value)
	}
	now, around, err := sh.read(value)
	if err != nil {
		s.lose(sh, err)
		return true
	}
	if now == lost {
		sh.around = around
		return false
	}
	s.offset.Store(now - time.Now().UnixMicro())
	sh.replay(now)
	return true
}

// settleLean does so for a lean script. What that left undecided goes the long way.
func (s *Store) settleLean(sh *sheet, value any) bool {
	sh.script = s.scripts.plain
	if value == any(int64(unable)) {
		s.scripts.fat.Store(true)
		return false
	}
	now, err := sh.readLean(value)
	if err != nil {
		s.lose(sh, err)
		return true
	}
	if now > 0 {
		s.offset.Store(now - time.Now().UnixMicro())
	}
	return sh.settleLean(now)
}

func (s *Store) loseAll(sheets []*sheet, err error) {
	for _, sh := range sheets {
		s.lose(sh, err)
	}
}

// lose answers the requests of a sheet with an error.
func (s *Store) lose(sh *sheet, err error) {
	e := failure(err)
	if s.cluster == nil && hasKind(err, "MOVED", "ASK", "CROSSSLOT") {
		e.Err = fmt.Errorf("%w: the server is one of a cluster, want its address as redis-cluster://", e.Err)
	}
	if s.cluster != nil && (e.Kind == KindNetwork || e.Kind == KindRefused || e.Kind == KindTimeout) {
		s.cluster.ReloadState(context.Background()) // in the background: the master may be another
	}
	if !sh.commits() {
		e = &core.StoreError{Kind: e.Kind, Err: e.Err}
	}
	for i := range sh.lines {
		for _, r := range sh.lines[i].requests {
			r.err = e
		}
	}
}

// refunds returns what a request was granted, the latest first: the places in a queue
// can only be left from its end.
func (r *request) refunds() []core.Refund {
	if r.err != nil || !r.commit {
		return nil
	}
	var list []core.Refund
	for i := len(r.charges) - 1; i >= 0; i-- {
		c, got := &r.charges[i], &r.results[i]
		if !got.Granted && !c.Shadow {
			return nil // nothing was spent
		}
		if got.Granted && c.Cost+got.Extra > 0 {
			list = append(list, core.Refund{
				Key: c.Key, Limit: c.Limit, Quota: c.Quota, Units: c.Cost + got.Extra,
				Receipt: got.Receipt, Slot: c.Slot, Turn: got.Delay > 0,
			})
		}
	}
	return list
}

// giveLater gives back what was granted to callers who have left.
func (s *Store) giveLater(list []core.Refund) {
	if len(list) == 0 || s.closed.Load() {
		return
	}
	s.giving.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
		defer cancel()
		_ = s.Give(ctx, list) // what is lost here was charged: the safe side
	})
}
