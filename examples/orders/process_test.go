package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The tests drive the program as a user does: a process of its own, over sockets.

var frameworks = []string{"gin", "echo", "http"}

var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "orders")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "orders")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// A process is a running order service.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stderr *lockedBuffer
	exited chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs the service on a free port and waits until it says that it listens.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, stderr: &lockedBuffer{}, exited: make(chan error, 1)}
	p.cmd = exec.Command(binary, append([]string{"-addr", "127.0.0.1:0"}, args...)...)
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v\n%s", err, p.stderr)
	}
	url, found := strings.CutPrefix(strings.TrimSpace(first), "listening on ")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("first line %q, want listening on http://ADDR", first)
	}
	p.url = url
	go func() {
		_, _ = io.Copy(io.Discard, lines)
		p.exited <- p.cmd.Wait()
	}()
	return p
}

// stop sends SIGTERM and wants a clean end.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	select {
	case err := <-p.exited:
		if err != nil {
			p.t.Errorf("ended with %v, want exit code 0\n%s", err, p.stderr)
		}
	case <-time.After(20 * time.Second):
		p.t.Error("still running 20s after SIGTERM")
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends one request. Headers are pairs.
func (p *process) ask(method, path, body string, headers ...string) answer {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// limitsFile writes a limits file and returns its path.
func limitsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// inEach runs a test against the service in every framework.
func inEach(t *testing.T, config string, test func(t *testing.T, p *process)) {
	t.Helper()
	for _, framework := range frameworks {
		t.Run(framework, func(t *testing.T) {
			args := []string{"-framework", framework}
			if config != "" {
				args = append(args, "-config", limitsFile(t, config))
			}
			p := start(t, args...)
			test(t, p)
			p.stop()
		})
	}
}
