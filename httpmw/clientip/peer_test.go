package clientip

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
)

func TestUnixPeerIsTrustedOnlyOnRequest(t *testing.T) {
	distrusting := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	trusting := mustNew(t, Config{TrustUnixPeer: true})
	for _, remote := range []string{"", "@", "@abstract", "/run/proxy.sock"} {
		check(t, distrusting, request(remote, "X-Forwarded-For", "203.0.113.9"), "")
		check(t, trusting, request(remote, "X-Forwarded-For", "6.6.6.6, 203.0.113.9"), "203.0.113.9")
		check(t, trusting, request(remote, "X-Forwarded-For"), "")
		check(t, trusting, request(remote, "X-Forwarded-For", "203.0.113.9, garbage"), "")
	}
	check(t, trusting, request("192.0.2.1:1", "X-Forwarded-For", "203.0.113.9"), "192.0.2.1")

	single := mustNew(t, Config{TrustUnixPeer: true, Header: "X-Real-IP"})
	check(t, single, request("@", "X-Real-IP", "203.0.113.9"), "203.0.113.9")
	check(t, single, request("@", "X-Real-IP", "no"), "")
}

func TestPeerWithoutAnAddressIsNotAUnixSocket(t *testing.T) {
	r := mustNew(t, Config{TrustUnixPeer: true, TrustedProxies: UnsafeTrustAnyPeer()})
	for _, remote := range []string{"pipe", "garbage:80", "0.0.0.0:0", "[::]:0", ":80", "localhost:80", "[fe80::1%]:80"} {
		check(t, r, request(remote, "X-Forwarded-For", "203.0.113.9"), "")
	}
}

// The server's own address says how the peer came, whatever the peer is called.
func TestNameOfAUnixPeerIsNotItsAddress(t *testing.T) {
	arrived := func(local net.Addr, remote string) *http.Request {
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, local)
		return request(remote, "X-Forwarded-For", "203.0.113.9").WithContext(ctx)
	}
	unix, tcp := &net.UnixAddr{Name: "/run/app.sock", Net: "unix"}, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}

	distrusting := mustNew(t, Config{TrustedProxies: goldenProxies(t)})
	check(t, distrusting, arrived(unix, "10.0.0.1:80"), "")
	check(t, distrusting, arrived(tcp, "10.0.0.1:80"), "203.0.113.9")

	trusting := mustNew(t, Config{TrustUnixPeer: true})
	check(t, trusting, arrived(unix, "relative.sock"), "203.0.113.9")
	check(t, trusting, arrived(tcp, "@"), "")
}

func TestServersOnRealSockets(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	for _, tt := range []struct {
		network, address string
		config           Config
		want             string
	}{
		{"tcp", "127.0.0.1:0", Config{}, "127.0.0.1"},
		{"tcp", "127.0.0.1:0", Config{TrustUnixPeer: true}, "127.0.0.1"},
		{"tcp", "127.0.0.1:0", Config{TrustedProxies: prefixes(t, "127.0.0.1")}, "203.0.113.9"},
		{"unix", socket, Config{}, "none"},
		{"unix", socket, Config{TrustUnixPeer: true}, "203.0.113.9"},
	} {
		got, err := serveOnce(tt.network, tt.address, mustNew(t, tt.config))
		if err != nil || got != tt.want {
			t.Errorf("on %s with %+v: client %s, %v, want %s", tt.network, tt.config, got, err, tt.want)
		}
	}
}

// serveOnce sends one request to a server that answers with the client's
// address, or "none".
func serveOnce(network, address string, r *Resolver) (string, error) {
	listener, err := net.Listen(network, address)
	if err != nil {
		return "", err
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if addr, ok := r.Addr(req); ok {
			fmt.Fprint(w, addr)
			return
		}
		fmt.Fprint(w, "none")
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()

	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, listener.Addr().String())
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	req, err := http.NewRequest(http.MethodGet, "http://service/", nil)
	if err != nil {
		return "", err
	}
	req.Header.Add("X-Forwarded-For", "6.6.6.6")
	req.Header.Add("X-Forwarded-For", "203.0.113.9")
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
