package redisstore

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/tidegate/tidegate/core"
)

// The kinds of failure, as [core.StoreError] names them.
const (
	KindTimeout  = "timeout"  // no answer in time: the charges may have been spent
	KindCanceled = "canceled" // the caller left; no fault of the store
	KindRefused  = "refused"  // no connection to the server
	KindNetwork  = "network"  // the connection broke: the charges may have been spent
	KindAuth     = "auth"     // a wrong password, or a right that the user lacks
	KindLoading  = "loading"  // the server is starting, or has lost its master
	KindReadOnly = "readonly" // a replica, as just after a failover
	KindMemory   = "memory"   // the server is full, and evicts nothing
	KindCluster  = "cluster"  // slots that nobody serves, or that keep moving
	KindBusy     = "busy"     // another script does not end
	KindReply    = "reply"    // an answer that no script of ours gives
	KindFull     = "full"     // too many requests wait for the server
	KindOther    = "other"
)

// Kinds lists every kind of failure, for metrics.
var Kinds = []string{
	KindTimeout, KindCanceled, KindRefused, KindNetwork, KindAuth, KindLoading, KindReadOnly,
	KindMemory, KindCluster, KindBusy, KindReply, KindFull, KindOther,
}

// answers are the beginnings of error replies, with what they mean. A server that
// answers so has not run the script, or not written anything.
var answers = []struct{ begins, kind string }{
	{"NOAUTH", KindAuth}, {"WRONGPASS", KindAuth}, {"NOPERM", KindAuth},
	{"ERR invalid password", KindAuth}, {"ERR AUTH", KindAuth}, {"ERR Client sent AUTH", KindAuth},
	{"ERR Protocol error: unauthenticated", KindAuth}, // of a long command before AUTH
	{"LOADING", KindLoading}, {"MASTERDOWN", KindLoading},
	{"READONLY", KindReadOnly}, {"NOREPLICAS", KindReadOnly},
	{"OOM", KindMemory}, {"MISCONF", KindMemory},
	{"MOVED", KindCluster}, {"ASK", KindCluster}, {"CLUSTERDOWN", KindCluster},
	{"TRYAGAIN", KindCluster}, {"CROSSSLOT", KindCluster},
	{"BUSY", KindBusy},
	{"WRONGTYPE", KindReply}, {"NOSCRIPT", KindReply},
}

var errReply = errors.New("the server's answer is none of our script's")

// failure makes a store's error of whatever went wrong with a call that was sent.
func failure(err error) *core.StoreError {
	var already *core.StoreError
	if errors.As(err, &already) {
		return already
	}
	e := &core.StoreError{Kind: KindOther, Err: err}
	var answer redis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, errReply):
		e.Kind, e.MaybeSpent = KindReply, true
	case errors.As(err, &answer):
		e.Kind = answerKind(answer.Error())
	case errors.Is(err, context.Canceled):
		e.Kind, e.MaybeSpent = KindCanceled, true
	case errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, syscall.ECONNREFUSED):
		e.Kind = KindRefused
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err),
		errors.Is(err, redis.ErrPoolTimeout):
		e.Kind, e.MaybeSpent = KindTimeout, true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, redis.ErrClosed), isNet(err):
		e.Kind, e.MaybeSpent = KindNetwork, true
	default:
		e.MaybeSpent = true
	}
	return e
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func isNet(err error) bool {
	var n net.Error
	return errors.As(err, &n)
}

// answerKind says what an error reply means. An error inside a script carries the
// error of the command that failed.
func answerKind(text string) string {
	for _, a := range answers {
		if strings.HasPrefix(text, a.begins) {
			return a.kind
		}
	}
	for _, a := range answers {
		if strings.Contains(text, "-"+a.begins) || strings.Contains(text, ": "+a.begins) {
			return a.kind
		}
	}
	if strings.Contains(text, "user_script") || strings.Contains(text, "Error running script") || strings.Contains(text, "ERR Error compiling") {
		return KindReply
	}
	return KindOther
}

func hasKind(err error, begins ...string) bool {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return false
	}
	for _, b := range begins {
		if strings.HasPrefix(answer.Error(), b) {
			return true
		}
	}
	return false
}
