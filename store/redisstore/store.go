package redisstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
)

// Config configures a [Store]. Its zero value is the recommended setting.
type Config struct {
	// Prefix is what every key begins with, before a colon. Services with the same
	// prefix, secret and limit names share their counts. 1 to 64 letters, digits or
	// _ . : / -. Default "tg".
	Prefix string

	// Timeout is the longest that a call waits for the server. Default 50ms.
	Timeout time.Duration
}

// The defaults of [Config].
const (
	DefaultPrefix  = "tg"
	DefaultTimeout = 50 * time.Millisecond
)

var prefixes = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,64}$`)

func (c Config) withDefaults() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if !prefixes.MatchString(c.Prefix) {
		return c, fmt.Errorf("redisstore: Prefix is %q, want 1 to 64 letters, digits or _ . : / -", c.Prefix)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Timeout < 0 {
		return c, fmt.Errorf("redisstore: Timeout is %v, want more than 0", c.Timeout)
	}
	return c, nil
}

// A Store is a [core.Store] in a Redis server, a group watched by Sentinel, or a
// cluster. Make one with [New] or [Open].
type Store struct {
	client  redis.UniversalClient
	cluster *redis.ClusterClient // nil: one server
	owned   bool                 // Close closes the client
	apart   bool                 // the client's own timeouts are longer than ours
	prefix  string
	timeout time.Duration
	scripts *scripts
	single  *lane
	lanes   sync.Map     // in a cluster: of the *redis.Client of a node to its *lane
	mapped  atomic.Bool  // in a cluster: it is known who has which keys
	offset  atomic.Int64 // of the server's clock from ours, µs
	closed  atomic.Bool
	holds   holds
	giving  sync.WaitGroup // what is given back behind callers' backs
}

// New returns a store that uses a client of the program's: a [redis.Client] (also
// one made with NewFailoverClient) or a [redis.ClusterClient]. The client is not
// closed by the store. It is not asked whether it can connect: the server may come
// up later.
func New(client redis.UniversalClient, c Config) (*Store, error) {
	if client == nil {
		return nil, errors.New("redisstore: New got no client")
	}
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, prefix: c.Prefix, timeout: c.Timeout, scripts: newScripts()}
	switch client := client.(type) {
	case *redis.ClusterClient:
		s.cluster = client
		s.apart = outlasts(client.Options().ContextTimeoutEnabled, client.Options().ReadTimeout, c.Timeout)
	case *redis.Client:
		s.apart = outlasts(client.Options().ContextTimeoutEnabled, client.Options().ReadTimeout, c.Timeout)
	default:
		return nil, fmt.Errorf("redisstore: New got a %T, want a *redis.Client or *redis.ClusterClient", client)
	}
	s.single = s.newLane(client)
	return s, nil
}

// outlasts reports whether a client's calls may take longer than a timeout.
func outlasts(obeysContext bool, read, timeout time.Duration) bool {
	return !obeysContext && (read <= 0 || read > timeout)
}

// A caller of Redis: a client, or that of one node of a cluster.
type caller interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

func (s *Store) newLane(to caller) *lane {
	return &lane{
		send:    func(batch []*request) { s.send(to, batch) },
		timeout: s.timeout,
		apart:   s.apart,
		limit:   maxFlights,
	}
}

// Traits implements [core.Store]. In a cluster, callers are decided apart.
func (s *Store) Traits() core.Traits {
	return core.Traits{Shared: true, Splits: s.cluster != nil}
}

// Close implements [core.Store]. It closes the client if the store has made it, and
// waits for what is being given back.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.holds.close()
	s.giving.Wait()
	if s.owned {
		return s.client.Close()
	}
	return nil
}

// Place returns the address of the server that has a key: "" where there is only one,
// and as long as nobody has told which servers there are.
func (s *Store) Place(k *core.Key) string {
	if s.cluster == nil || !s.mapped.Load() {
		return ""
	}
	node, err := s.cluster.MasterForKey(context.Background(), s.name(k, letterProbe))
	if err != nil {
		return ""
	}
	return node.Options().Addr
}

// Probe returns nil when the server of a key can be read and written.
func (s *Store) Probe(ctx context.Context, k *core.Key) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	if s.cluster != nil {
		s.cluster.ReloadState(ctx)
	}
	if err := s.client.Set(ctx, s.name(k, letterProbe), 1, time.Second).Err(); err != nil {
		return failure(err)
	}
	return nil
}

// laneOf returns the way to the server that has a key.
func (s *Store) laneOf(ctx context.Context, name string) (*lane, error) {
	if s.cluster == nil {
		return s.single, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	node, err := s.cluster.MasterForKey(ctx, name)
	if err != nil {
		e := failure(err)
		e.MaybeSpent = false
		return nil, e
	}
	s.mapped.Store(true)
	if l, ok := s.lanes.Load(node); ok {
		return l.(*lane), nil
	}
	l, _ := s.lanes.LoadOrStore(node, s.newLane(node))
	return l.(*lane), nil
}

// Take implements [core.Store].
func (s *Store) Take(ctx context.Context, charges []core.Charge, results []core.Result) error {
	err := s.decide(ctx, charges, results, true)
	s.keep(charges, results, err)
	return err
}

// Peek implements [core.Store].
func (s *Store) Peek(ctx context.Context, charges []core.Charge, results []core.Result) error {
	return s.decide(ctx, charges, results, false)
}

func (s *Store) decide(ctx context.Context, charges []core.Charge, results []core.Result, commit bool) error {
	if len(charges) == 0 {
		return nil
	}
	if err := checkCharges(charges); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return &core.StoreError{Kind: KindCanceled, Err: err}
	}
	if s.cluster != nil {
		if parts := split(charges); len(parts) > 1 {
			return s.decideParts(ctx, charges, results, parts, commit)
		}
	}
	r := s.newRequest(charges, nil, commit)
	l, err := s.laneOf(ctx, r.names[0])
	if err != nil {
		r.free()
		return err
	}
	if err := l.start(r, true); err != nil {
		return err
	}
	if err := l.wait(ctx, r); err != nil {
		return err
	}
	err = r.err
	copy(results, r.results)
	r.free()
	return err
}

// checkCharges refuses what no script decides.
func checkCharges(charges []core.Charge) error {
	for i := range charges {
		for j := range i {
			if charges[i].Key == charges[j].Key && charges[i].Quota != charges[j].Quota {
				return &core.StoreError{Kind: KindOther, Err: fmt.Errorf("redisstore: limit %q is charged under two quotas in one call", charges[i].Limit)}
			}
		}
	}
	return nil
}
