package redistest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy stands between a store and its server, and spoils what passes.
type Proxy struct {
	listener net.Listener
	target   string
	delay    atomic.Int64 // ns, each way
	swallow  atomic.Int64 // replies that are to be lost, with their connection
	conns    sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool
}

// StartProxy starts a proxy in front of a server. It ends with the test.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, target: target, open: map[net.Conn]bool{}}
	p.conns.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Cut()
		p.conns.Wait()
	})
	return p
}

// URL returns the proxy's address as a store is opened with.
func (p *Proxy) URL() string { return "redis://" + p.listener.Addr().String() }

// Delay makes everything take so much longer, each way.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Swallow loses the next n replies: the server has done what it was asked, and the
// connection breaks before anybody hears of it.
func (p *Proxy) Swallow(n int) { p.swallow.Store(int64(n)) }

// Cut breaks every connection there is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		c.Close()
	}
}

func (p *Proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.keep(in, out)
		p.conns.Go(func() { p.pass(out, in, false) })
		p.conns.Go(func() { p.pass(in, out, true) })
	}
}

func (p *Proxy) keep(conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
}

// pass carries bytes until either side ends.
func (p *Proxy) pass(to, from net.Conn, replies bool) {
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		delete(p.open, from)
		p.mu.Unlock()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(p.delay.Load()))
		if replies && p.swallow.Load() > 0 && p.swallow.Add(-1) >= 0 {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil || err == io.EOF {
			return
		}
	}
}
