package redistest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Slots is how many slots a cluster has.
const Slots = 16384

// A Cluster is a few servers that share the slots between them.
type Cluster struct {
	t        testing.TB
	Masters  []*Server
	Replicas []*Server // of the master of the same index
}

// StartCluster starts a cluster of so many masters, each with a replica if asked.
func StartCluster(t testing.TB, masters int, replicas bool) *Cluster {
	t.Helper()
	c := &Cluster{t: t}
	node := func() *Server {
		return Start(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "1000",
			"--cluster-replica-validity-factor", "0", "--repl-timeout", "5",
			"--cluster-require-full-coverage", "no") // else one dead master stops them all
	}
	for range masters {
		c.Masters = append(c.Masters, node())
		if replicas {
			c.Replicas = append(c.Replicas, node())
		}
	}
	c.form()
	return c
}

func (c *Cluster) nodes() []*Server { return append(append([]*Server{}, c.Masters...), c.Replicas...) }

// form deals out the slots, introduces the nodes and waits until all know of all.
func (c *Cluster) form() {
	c.t.Helper()
	for i, m := range c.Masters {
		from, to := i*Slots/len(c.Masters), (i+1)*Slots/len(c.Masters)-1
		m.Do("cluster", "addslotsrange", from, to)
		m.Do("cluster", "set-config-epoch", i+1)
	}
	first := c.Masters[0]
	for _, n := range c.nodes()[1:] {
		n.Do("cluster", "meet", "127.0.0.1", first.port)
	}
	c.AwaitReady()
	for i, r := range c.Replicas {
		r.Do("cluster", "replicate", c.Masters[i].Do("cluster", "myid"))
	}
	for _, r := range c.Replicas {
		r.await("follow its master", func(ctx context.Context, client *redis.Client) bool {
			text, _ := client.Info(ctx, "replication").Result()
			return strings.Contains(text, "master_link_status:up")
		})
	}
	c.AwaitReady()
}

// AwaitReady waits until every node says that the cluster works and knows them all.
func (c *Cluster) AwaitReady() {
	c.t.Helper()
	want := fmt.Sprintf("cluster_known_nodes:%d", len(c.nodes()))
	for _, n := range c.nodes() {
		n.await("find the cluster in order", func(ctx context.Context, client *redis.Client) bool {
			text, err := client.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(text, "cluster_state:ok") && strings.Contains(text, want)
		})
	}
}

// URL returns the cluster's address as a store is opened with.
func (c *Cluster) URL() string {
	var hosts []string
	for _, m := range c.Masters {
		hosts = append(hosts, m.Addr())
	}
	return "redis-cluster://" + strings.Join(hosts, ",")
}

// Client returns a client of the test's own.
func (c *Cluster) Client() *redis.ClusterClient {
	var hosts []string
	for _, m := range c.Masters {
		hosts = append(hosts, m.Addr())
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: hosts})
	c.t.Cleanup(func() { client.Close() })
	return client
}

// Owner returns the index of the master that has a key's slot.
func (c *Cluster) Owner(key string) int {
	c.t.Helper()
	slot := c.Masters[0].Do("cluster", "keyslot", key).(int64)
	for i := range c.Masters {
		if slot >= int64(i*Slots/len(c.Masters)) && slot < int64((i+1)*Slots/len(c.Masters)) {
			return i
		}
	}
	c.t.Fatalf("nobody has slot %d", slot)
	return -1
}

// Move moves the slot of a key to another master, its keys one by one, as an operator
// would. Between two of them it calls f, if that is not nil.
func (c *Cluster) Move(key string, to int, f func()) {
	c.t.Helper()
	from := c.Owner(key)
	slot := c.Masters[0].Do("cluster", "keyslot", key)
	source, target := c.Masters[from], c.Masters[to]
	sourceID, targetID := source.Do("cluster", "myid"), target.Do("cluster", "myid")
	target.Do("cluster", "setslot", slot, "importing", sourceID)
	source.Do("cluster", "setslot", slot, "migrating", targetID)
	if f != nil {
		f()
	}
	for {
		keys := source.Do("cluster", "getkeysinslot", slot, 10).([]any)
		if len(keys) == 0 {
			break
		}
		for _, k := range keys {
			source.Do("migrate", "127.0.0.1", target.port, k, 0, 5000)
			if f != nil {
				f()
			}
		}
	}
	for _, m := range []*Server{target, source} {
		m.Do("cluster", "setslot", slot, "node", targetID)
	}
	time.Sleep(50 * time.Millisecond) // the others hear of it
}
