package httpmwtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
)

func plumbing() []Case {
	return []Case{
		{"InterfacesOfTheWriter", "The handler's writer shows what it did without the limiter, watched or not.", interfacesOfTheWriter},
		{"Streams", "The first event of a stream arrives at once.", streams},
		{"Hijack", "A handler can take over an HTTP/1 connection, watched or not.", hijack},
		{"UploadedFiles", "The server removes the files of an upload when the handler is done.", uploadedFiles},
		{"LargeBodies", "A denial does not wait for a body that nobody will read, and closes the HTTP/1 connection; small ones stay open.", largeBodies},
		{"UpdateUnderLoad", "Requests in flight during an update are decided by one table or the other.", updateUnderLoad},
		{"AbortHandler", "A handler that aborts is not recovered by the limiter.", abortHandler},
	}
}

// watched is a limit that makes the adapter watch the status, or one that does not.
func watched(watch bool) core.Limit {
	l := bucket("a", 100, time.Hour)
	if watch {
		l.Count = []int{401}
	}
	return l
}

func interfacesOfTheWriter(p *Probe) {
	for _, watch := range []bool{false, true} {
		sub := &Probe{tb: p.tb, mount: p.mount, http2: p.http2}
		sub.now.Store(p.now.Load())
		sub.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, _ *http.Request) {
			_, flusher := w.(http.Flusher)
			rc := http.NewResponseController(w)
			deadline := rc.SetWriteDeadline(time.Now().Add(time.Minute))
			full := rc.EnableFullDuplex()
			fmt.Fprintf(w, "flusher %v, deadline %v, full duplex %v", flusher, deadline, full == nil || errors.Is(full, http.ErrNotSupported))
		}}}}, watched(watch))
		p.want(fmt.Sprintf("watched %v", watch), sub.ask("GET", "/x", "X-User", "a").body, "flusher true, deadline <nil>, full duplex true")
		p.wrong = append(p.wrong, sub.wrong...)
	}
}

func streams(p *Probe) {
	for _, watch := range []bool{false, true} {
		sub := &Probe{tb: p.tb, mount: p.mount, http2: p.http2}
		release := make(chan struct{})
		sub.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			<-release
		}}}}, watched(watch))
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		request, _ := http.NewRequestWithContext(ctx, "GET", sub.server.URL+"/x", nil)
		response, err := sub.server.Client().Do(request)
		if err != nil {
			p.errorf("watched %v: %v", watch, err)
			close(release)
			cancel()
			continue
		}
		line, err := bufio.NewReader(response.Body).ReadString('\n') // before the handler has returned
		close(release)
		_ = response.Body.Close()
		cancel()
		if line != "data: 1\n" {
			p.errorf("watched %v: first line %q, %v", watch, line, err)
		}
	}
}

func hijack(p *Probe) {
	if p.http2 {
		return // there is no connection to take over
	}
	for _, watch := range []bool{false, true} {
		sub := &Probe{tb: p.tb, mount: p.mount}
		sub.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, _ *http.Request) {
			hijacker, able := w.(http.Hijacker)
			if !able {
				http.Error(w, "not a Hijacker", 500)
				return
			}
			conn, _, err := hijacker.Hijack()
			if err != nil {
				http.Error(w, err.Error(), 500)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\nhello")
			_ = conn.Close()
		}}}}, watched(watch))
		conn, err := net.Dial("tcp", sub.server.Listener.Addr().String())
		if err != nil {
			p.tb.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /x HTTP/1.1\r\nHost: test\r\n\r\n")
		text, _ := io.ReadAll(conn)
		_ = conn.Close()
		if !strings.HasPrefix(string(text), "HTTP/1.1 101 ") || !strings.HasSuffix(string(text), "hello") {
			p.errorf("watched %v: %q", watch, text)
		}
	}
}

// upload is a form with a file.
func upload(size int) (body *bytes.Buffer, contentType string) {
	body = &bytes.Buffer{}
	form := multipart.NewWriter(body)
	part, _ := form.CreateFormFile("f", "f")
	_, _ = part.Write(make([]byte, size))
	_ = form.Close()
	return body, form.FormDataContentType()
}

func uploadedFiles(p *Probe) {
	limits := map[string]core.Limit{"plain": watched(false), "watched": watched(true), "denied": bucket("a", 0, time.Hour)}
	handle := func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 10); err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		f, err := r.MultipartForm.File["f"][0].Open()
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		defer f.Close()
		_, _ = io.WriteString(w, f.(*os.File).Name())
	}
	for name, l := range limits {
		l.Exceeded = core.Fallback
		p.start(App{Identify: user, Fallback: handle, Routes: []Route{{Method: "POST", Path: "/x", Limit: "own", Handle: handle}}}, l, manual(bucket("own", 9, time.Hour)))
		body, contentType := upload(64 << 10)
		r, err := p.send("POST", "/x", body, "X-User", "a", "Content-Type", contentType)
		if err != nil || r.StatusCode != 200 || r.body == "" {
			p.errorf("%s: %v, %s", name, err, r.body)
			continue
		}
		// The server tidies up after it has answered.
		for wait := time.Now().Add(2 * time.Second); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(r.body); os.IsNotExist(err) {
				break
			}
			if time.Now().After(wait) {
				p.errorf("%s: the file %s is still there", name, r.body)
				_ = os.Remove(r.body)
				break
			}
		}
	}
}

func largeBodies(p *Probe) {
	if p.http2 {
		return // a stream is refused by itself
	}
	p.start(App{}, bucket("a", 0, time.Hour))
	for _, tt := range []struct {
		length string
		closed bool
	}{{"Content-Length: 10000000", true}, {"Transfer-Encoding: chunked", true}, {"Content-Length: 3", false}} {
		conn, err := net.Dial("tcp", p.server.Listener.Addr().String())
		if err != nil {
			p.tb.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		fmt.Fprintf(conn, "POST /x HTTP/1.1\r\nHost: test\r\n%s\r\n\r\nabc", tt.length) // and no more
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			p.errorf("%s: no answer to a stalled request: %v", tt.length, err)
			_ = conn.Close()
			continue
		}
		p.want(tt.length, response.StatusCode, 429)
		p.want(tt.length+" closes", response.Close, tt.closed)
		_ = conn.Close()
	}
}

func updateUnderLoad(p *Probe) {
	config := func(n int64) core.Config { return core.Config{Limits: []core.Limit{bucket("a", n, time.Hour)}} }
	l := p.limiter(config(10_000))
	p.start(App{Limiter: l, Identify: user})
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 4 {
		wg.Go(func() {
			for range 25 {
				r, err := p.send("GET", "/x", nil, "X-User", "a")
				if err != nil || r.StatusCode != 200 || r.Header.Get("RateLimit") == "" {
					mu.Lock()
					p.errorf("%v, %v", r.Response, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range 100 {
		if err := l.Update(config(int64(10_000 + i))); err != nil {
			p.tb.Fatal(err)
		}
	}
	wg.Wait()
	p.want("after the updates", p.ask("GET", "/x", "X-User", "a").Header.Get("RateLimit-Policy"), `"a";q=10099;w=3600`)
}

func abortHandler(p *Probe) {
	p.start(App{Identify: user, Routes: []Route{{Method: "GET", Path: "/x", Handle: func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}}}}, watched(true))
	// Gin's recovery swallows the abort; elsewhere the client sees the end of the connection.
	r, err := p.send("GET", "/x", nil, "X-User", "a")
	if err == nil && r.body != "half" {
		p.errorf("got %d %q", r.StatusCode, r.body)
	}
}
