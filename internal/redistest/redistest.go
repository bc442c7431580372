// Package redistest starts real Redis servers for tests, and ends them. A machine
// without redis-server fails the test: a store that was never tried against the real
// thing has not been tested.
package redistest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// binary is the server to test with; the variable chooses another, such as
// valkey-server or an older build.
func binary() string {
	if path := os.Getenv("TIDEGATE_REDIS_SERVER"); path != "" {
		return path
	}
	return "redis-server"
}

// patience is how long a server may take to start or to react.
const patience = 20 * time.Second

// A Server is a process of its own, on a port of this machine. Its methods may be
// called from the test's goroutine.
type Server struct {
	t     testing.TB
	port  int
	args  []string
	whole []string // all arguments, instead of the usual ones and args
	dir   string

	mu  sync.Mutex
	cmd *exec.Cmd
}

// Start starts a server, with options as redis-server takes them: "--requirepass",
// "secret". It keeps nothing on disk, and ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := New(t, args...)
	s.Start()
	return s
}

// New returns a server that has not been started: nobody answers at its address yet.
func New(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := exec.LookPath(binary()); err != nil {
		t.Fatalf("these tests need a real %s: %v (make servers installs it)", binary(), err)
	}
	s := &Server{t: t, port: freePort(t), args: args, dir: t.TempDir()}
	t.Cleanup(s.Kill)
	return s
}

// ports hands out each port once, so that servers of one test do not meet.
var ports struct {
	sync.Mutex
	used map[int]bool
}

// freePort returns a port that nobody listens on, with the one 10 000 above it free
// too, which a cluster's nodes talk on.
func freePort(t testing.TB) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	if ports.used == nil {
		ports.used = map[int]bool{}
	}
	for range 1000 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if port > 55_000 || ports.used[port] {
			continue
		}
		bus, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+10_000)))
		if err != nil {
			continue
		}
		bus.Close()
		ports.used[port] = true
		return port
	}
	t.Fatal("no free port for a server")
	return 0
}

// Start starts the process again after [Server.Kill], with nothing in it, and waits
// until it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	s.await("answer", func(ctx context.Context, c *redis.Client) bool {
		err := c.Ping(ctx).Err()
		return err == nil || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS")
	})
}

// Launch starts the process and does not wait for it.
func (s *Server) Launch() {
	s.t.Helper()
	args := append([]string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", s.dir, "--logfile", filepath.Join(s.dir, "log"), "--repl-diskless-sync-delay", "0",
	}, s.args...)
	if s.whole != nil {
		args = s.whole
	}
	cmd := exec.Command(binary(), args...)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("%s: %v", binary(), err)
	}
	s.mu.Lock()
	s.cmd = cmd
	s.mu.Unlock()
}

// Addr returns host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the address as a store is opened with.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Dir returns the server's folder.
func (s *Server) Dir() string { return s.dir }

// Client returns a client of the test's own.
func (s *Server) Client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	s.t.Cleanup(func() { c.Close() })
	return c
}

// Do sends a command, and fails the test when it fails.
func (s *Server) Do(args ...any) any {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	v, err := c.Do(ctx, args...).Result()
	if err != nil {
		s.t.Fatalf("%v at %s: %v", args, s.Addr(), err)
	}
	return v
}

// Info returns one field of INFO, or "".
func (s *Server) Info(section, field string) string {
	s.t.Helper()
	text, _ := s.Do("info", section).(string)
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// AwaitCaughtUp waits until a replica has heard all that its master has done.
func (s *Server) AwaitCaughtUp(master *Server) {
	s.t.Helper()
	Await(s.t, fmt.Sprintf("the replica at %s did not catch up", s.Addr()), func() bool {
		done := master.Info("replication", "master_repl_offset")
		return s.Info("replication", "master_link_status") == "up" && s.Info("replication", "slave_repl_offset") == done
	})
}

// Kill ends the process at once, as a crash would.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Hang stops the process where it is: it holds its connections and answers nothing.
func (s *Server) Hang() { s.signal(syscall.SIGSTOP) }

// Resume lets a process that hangs go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	if sig == syscall.SIGKILL {
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// await waits until a server is as it should be.
func (s *Server) await(what string, is func(context.Context, *redis.Client) bool) {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer c.Close()
	Await(s.t, fmt.Sprintf("the server at %s did not %s", s.Addr(), what), func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		return is(ctx, c)
	})
}

// Await waits until something holds, and fails the test with a message when it takes
// too long.
func Await(t testing.TB, message string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s within %v", message, patience)
		}
	}
}
