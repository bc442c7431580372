// Command worker limits work that comes from no HTTP request: a queue of e-mails
// that may leave at two a second for each customer, and a command-line tool that
// asks before it does something costly.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tidegate/tidegate/core"
	"github.com/tidegate/tidegate/store/memstore"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	limiter, err := core.New(core.Config{
		Store: memstore.New(memstore.Config{}),
		Limits: []core.Limit{
			{Name: "emails", Manual: true, Quota: core.LeakyBucket(2, time.Second)},
			{Name: "exports", Manual: true, Tiers: core.Tiers{
				"free": core.FixedWindow(3, core.Day),
				"pro":  core.FixedWindow(100, core.Day),
			}},
		},
	})
	if err != nil {
		return err
	}
	// A worker waits for its turn, as long as its context lets it.
	start := time.Now()
	for i := range 3 {
		if err := limiter.Wait(ctx, "emails", "customer-7", 1); err != nil {
			return err
		}
		fmt.Fprintf(out, "e-mail %d after %v\n", i+1, time.Since(start).Round(100*time.Millisecond))
	}
	// A tool asks first, and says what is left. The tier of the caller travels in the
	// context.
	ctx = core.WithIdentity(ctx, core.Identity{Principal: "customer-7", Tier: "free"})
	for _, files := range []int64{1, 2, 1, 4} {
		d, err := limiter.Allow(ctx, "exports", "customer-7", files)
		if err != nil {
			return err
		}
		if !d.Allowed() {
			fmt.Fprintf(out, "no export of %d, try again %s\n", files, when(d.RetryAfter()))
			continue
		}
		fmt.Fprintf(out, "exporting %d, %d left today\n", files, d.Limit(0).Remaining)
	}
	return nil
}

// when says for people how long to wait. A cost above what the limit can ever hold
// has no such time.
func when(wait time.Duration) string {
	if wait == core.Never {
		return "never"
	}
	return "in " + wait.Round(time.Second).String()
}
