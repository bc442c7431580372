package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

type streamsKey struct{}

// withStreams lets handlers know the context that ends every stream.
func withStreams(ctx, streams context.Context) context.Context {
	return context.WithValue(ctx, streamsKey{}, streams)
}

// untilShutdown returns a context that ends with the request, or with the service.
func untilShutdown(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if streams, ok := ctx.Value(streamsKey{}).(context.Context); ok {
		stop := context.AfterFunc(streams, cancel)
		return ctx, func() { stop(); cancel() }
	}
	return ctx, cancel
}

const (
	eventEvery = 50 * time.Millisecond
	maxEvents  = 100_000
)

// stream sends n server-sent events, the first at once.
func (s *service) stream(w http.ResponseWriter, r *http.Request) {
	n, ok := number(r, "n", 10, 1, maxEvents)
	if !ok {
		reply(w, http.StatusBadRequest, problem{"want n from 1 to 100000"})
		return
	}
	ctx, cancel := untilShutdown(r.Context())
	defer cancel()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	controller := http.NewResponseController(w)
	ticker := time.NewTicker(eventEvery)
	defer ticker.Stop()
	for i := range n {
		if i > 0 {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
		if _, err := fmt.Fprintf(w, "data: %d\n\n", i+1); err != nil || controller.Flush() != nil {
			return
		}
	}
}

// messageLimit is the limit that each WebSocket message is charged to.
const messageLimit = "ws-messages"

// socket echoes messages. The handshake was limited like any request; each message
// is charged by hand.
func (s *service) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow()
	ctx, cancel := untilShutdown(r.Context())
	defer cancel()
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			return
		}
		if !s.allowMessage(ctx) {
			conn.Close(websocket.StatusPolicyViolation, "too many messages")
			return
		}
		if conn.Write(ctx, kind, message) != nil {
			return
		}
	}
}

// allowMessage charges a message to the caller of the request. A table without
// the limit limits no messages.
func (s *service) allowMessage(ctx context.Context) bool {
	if !s.limiter.HasLimit(messageLimit) {
		return true
	}
	d, err := s.limiter.Allow(ctx, messageLimit, "", 1)
	return err == nil && d.Allowed()
}
