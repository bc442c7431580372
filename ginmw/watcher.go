package ginmw

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/tidegate/tidegate/httpmw/guard"
)

// A watcher commits the final status before its first byte is sent.
type watcher struct {
	gin.ResponseWriter
	visit    *guard.Visit[*gin.Context]
	returned bool // the handlers behind have
}

func (w *watcher) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // sends nothing yet
	if w.returned && !w.Written() {
		w.visit.Settle(w.Status())
	}
}

func (w *watcher) WriteHeaderNow() {
	w.visit.Commit(w.Status())
	w.ResponseWriter.WriteHeaderNow()
}

func (w *watcher) Write(b []byte) (int, error) {
	w.visit.Commit(w.Status())
	return w.ResponseWriter.Write(b)
}

func (w *watcher) WriteString(s string) (int, error) {
	w.visit.Commit(w.Status())
	return w.ResponseWriter.WriteString(s)
}

func (w *watcher) Flush() {
	w.visit.Commit(w.Status())
	w.ResponseWriter.Flush()
}

func (w *watcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := w.ResponseWriter.Hijack()
	if err == nil { // otherwise the handler still has a response to send
		w.visit.Commit(http.StatusSwitchingProtocols)
	}
	return conn, buf, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *watcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }
