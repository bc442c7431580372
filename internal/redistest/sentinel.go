package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A Watched is a master with a replica, and a sentinel that puts the one in the place
// of the other.
type Watched struct {
	Master, Replica, Sentinel *Server
}

// MasterName is what the sentinel calls the master.
const MasterName = "tides"

// StartWatched starts a master, a replica and a sentinel.
func StartWatched(t testing.TB) *Watched {
	t.Helper()
	w := &Watched{Master: Start(t), Replica: Start(t)}
	w.Replica.Do("replicaof", "127.0.0.1", strconv.Itoa(w.Master.port))
	w.Replica.await("follow its master", func(ctx context.Context, c *redis.Client) bool {
		role, err := c.Do(ctx, "role").Slice()
		return err == nil && len(role) > 3 && role[0] == "slave" && role[3] == "connected"
	})
	w.Sentinel = New(t)
	file := filepath.Join(w.Sentinel.dir, "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %d 1\nsentinel down-after-milliseconds %s 300\nsentinel failover-timeout %s 3000\n",
		w.Sentinel.port, w.Sentinel.dir, MasterName, w.Master.port, MasterName, MasterName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Sentinel.whole = []string{file, "--sentinel", "--logfile", filepath.Join(w.Sentinel.dir, "log")}
	w.Sentinel.Start()
	w.Sentinel.await("find the replica", func(ctx context.Context, c *redis.Client) bool {
		list, err := c.Do(ctx, "sentinel", "replicas", MasterName).Slice()
		return err == nil && len(list) == 1
	})
	return w
}
