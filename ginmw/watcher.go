package ginmw

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"
)

// A watcher calls commit with the final status, before its first byte is sent.
type watcher struct {
	gin.ResponseWriter
	commit func(status int)
}

func (w *watcher) WriteHeaderNow() {
	w.commit(w.Status())
	w.ResponseWriter.WriteHeaderNow()
}

func (w *watcher) Write(b []byte) (int, error) {
	w.commit(w.Status())
	return w.ResponseWriter.Write(b)
}

func (w *watcher) WriteString(s string) (int, error) {
	w.commit(w.Status())
	return w.ResponseWriter.WriteString(s)
}

func (w *watcher) Flush() {
	w.commit(w.Status())
	w.ResponseWriter.Flush()
}

func (w *watcher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.commit(http.StatusSwitchingProtocols)
	return w.ResponseWriter.Hijack()
}

// Unwrap lets http.ResponseController reach the connection.
func (w *watcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }
