// Command orders is a small order service that shows everything tidegate does, in
// Gin, Echo or net/http:
//
//	go run ./examples/orders [-framework gin|echo|http] [-addr 127.0.0.1:8080]
//	    [-config FILE] [-store memory|redis://…|rediss://…|redis-cluster://h:p,h:p]
//	    [-drill fail|hang|slow:SPAN] [-reload=true]
//
// With no flags it runs Gin with the limits of limits.yaml beside this file. SIGHUP,
// or a change of the file with -reload, loads the limits again; SIGTERM lets what
// is in flight finish.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	_ "time/tzdata" // limits may name a time zone that the machine does not know

	"github.com/tidegate/tidegate/store/open"
	"github.com/tidegate/tidegate/store/redisstore"
)

// Exit codes.
const (
	exitFailed = 1
	exitUsage  = 2 // a wrong flag or limits file
)

type flags struct {
	framework, addr, config, store string
	drill                          open.Drill
	reload                         bool
}

func main() {
	redisstore.Quiet()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with everything it touches passed in. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	f, err := parseFlags(args, stderr)
	if err != nil {
		return exitUsage
	}
	app, err := newApp(f)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	defer app.close()
	if err := serve(ctx, app, f, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "orders:", err)
		return exitFailed
	}
	return 0
}

func parseFlags(args []string, stderr io.Writer) (flags, error) {
	var f flags
	set := flag.NewFlagSet("orders", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.StringVar(&f.framework, "framework", "gin", "`name` of the framework: gin, echo or http")
	set.StringVar(&f.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 takes a free one")
	set.StringVar(&f.config, "config", "", "limits `file`; the built-in one when left out")
	set.StringVar(&f.store, "store", "", "where spending is kept: memory, or the `address` of a server, redis://host:port/db, rediss:// or redis-cluster://h:p,h:p; what the limits file says, or memory, when left out")
	drill := set.String("drill", "", "make the server `misbehave` from the first request on: fail, hang or slow, and for how long, as in hang:30s")
	set.BoolVar(&f.reload, "reload", true, "load the limits file again when it changes")
	if err := set.Parse(args); err != nil {
		return f, err
	}
	err := f.check(set.Args())
	if err == nil {
		f.drill, err = open.ParseDrill(*drill)
	}
	if err != nil {
		fmt.Fprintln(stderr, "orders:", err)
	}
	return f, err
}

func (f flags) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case routers[f.framework] == nil:
		return fmt.Errorf("-framework is %q, want gin, echo or http", f.framework)
	case f.store == "", f.store == "memory", strings.Contains(f.store, "://"):
		return nil
	}
	return fmt.Errorf("-store is %q, want memory or an address such as redis://127.0.0.1:6379/0", f.store)
}

// drain is how long requests in flight may take after SIGTERM: longer than the
// longest that the service has.
const drain = 15 * time.Second

// serve answers requests until ctx ends, and then lets those in flight finish.
func serve(ctx context.Context, a *app, f flags, stdout, stderr io.Writer) error {
	listener, err := net.Listen("tcp", f.addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another with -addr host:port, or make run ADDR=host:port", err)
	}
	if err != nil {
		return err
	}
	// Streams and sockets have no end of their own: they end with the service.
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	server := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return withStreams(context.Background(), streams) },
		Protocols:         new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintf(stdout, "listening on http://%s\n", listener.Addr())
	fmt.Fprintf(stdout, welcome, listener.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	stopReload := a.watch(f.reload, stderr)
	defer stopReload()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	endStreams()
	patience, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	if err := server.Shutdown(patience); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

const welcome = `try, again and again:
  curl -i -X POST http://%[1]s/orders -H 'X-API-Key: key-alice'
  curl -i http://%[1]s/products
  curl -i -X POST http://%[1]s/login -d '{"user":"u","password":"guess"}'
the callers are key-alice (free), key-acme (pro) and key-big (enterprise)
`
