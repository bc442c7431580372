package guard

import (
	"context"
	"net/http"
	"sync"
)

// An outcome is how far the status of a response is known.
type outcome struct {
	mu     sync.Mutex
	status int32       // 0: not yet
	sent   bool        // it cannot change any more
	stop   func() bool // ends the wait for the end of the request
}

// Counts reports whether the final status decides what the request is charged, so
// that the adapter must tell it.
func (v *Visit[C]) Counts() bool { return v.Decision.Counts() }

// Commit settles the charges by the status that is being sent. Only the first call
// counts. Informational statuses are not final and settle nothing.
func (v *Visit[C]) Commit(status int) { v.settle(status, true) }

// Settle settles the charges by the status that is to be sent when nobody changes
// it. Settle again, or Commit, when somebody outside has.
func (v *Visit[C]) Settle(status int) { v.settle(status, false) }

// Await leaves the status to middleware outside, where something is known to answer,
// such as an error handler. When the request ends and nothing has answered, it
// was a 200.
func (v *Visit[C]) Await() {
	o := &v.outcome
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status == 0 {
		o.stop = context.AfterFunc(v.Context, v.expire)
	}
}

// expire settles what nobody has.
func (v *Visit[C]) expire() {
	o := &v.outcome
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status == 0 {
		o.status = http.StatusOK
		_ = v.Decision.Commit(v.Context, http.StatusOK) // reported to the observer
	}
}

func (v *Visit[C]) settle(status int, sent bool) {
	if status < http.StatusOK && status != http.StatusSwitchingProtocols {
		return
	}
	o := &v.outcome
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent {
		return
	}
	before := int(o.status)
	o.status, o.sent = int32(status), sent
	if o.stop != nil {
		o.stop()
	}
	// A store that cannot take the units back has been reported to the observer; for
	// the response it makes no difference.
	switch before {
	case 0:
		_ = v.Decision.Commit(v.Context, status)
	case status:
	default:
		_ = v.Decision.Revise(v.Context, before, status)
	}
}
