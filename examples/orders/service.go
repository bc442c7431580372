package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidegate/tidegate/core"
)

// A service is the business, the same in every framework.
type service struct {
	limiter *core.Limiter

	mu     sync.Mutex
	served map[string]int // how often each handler ran
	orders []order        // the latest
	next   int
}

type order struct {
	ID string `json:"id"`
}

// keptOrders bounds the service's memory. It is an example, not a database.
const keptOrders = 100

func newService(l *core.Limiter) *service {
	return &service{limiter: l, served: map[string]int{}}
}

// A route is one endpoint. Paths are written as net/http's ServeMux does.
type route struct {
	method, path string
	handle       http.HandlerFunc
}

// routes lists the endpoints that are limited.
func (s *service) routes() []route {
	list := []route{
		{"POST", "/orders", s.createOrder},
		{"GET", "/orders", s.listOrders},
		{"GET", "/orders/{id}", s.getOrder},
		{"DELETE", "/orders/{id}", s.deleteOrder},
		{"POST", "/login", s.login},
		{"GET", "/work", s.work},
		{"POST", "/work", s.work},
		{"GET", "/stream", s.stream},
		{"GET", "/ws", s.socket},
		{"GET", "/products", s.listProducts},
	}
	for i, r := range list {
		list[i].handle = s.counted(r.method+" "+r.path, r.handle)
	}
	return list
}

// open lists the endpoints that stand outside the limiter.
func (s *service) open() []route {
	return []route{
		{"GET", "/healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }},
		{"GET", "/served", s.showServed},
		{"GET", "/metrics", notYet},
		{"GET", "/debug/limits", notYet},
	}
}

// counted counts that a handler's body really ran.
func (s *service) counted(name string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.served[name]++
		s.mu.Unlock()
		next(w, r)
	}
}

func (s *service) createOrder(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	s.next++
	o := order{ID: strconv.Itoa(s.next)}
	s.orders = append(s.orders, o)
	if len(s.orders) > keptOrders {
		s.orders = s.orders[1:]
	}
	s.mu.Unlock()
	reply(w, http.StatusCreated, o)
}

func (s *service) listOrders(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	list := append([]order{}, s.orders...)
	s.mu.Unlock()
	reply(w, http.StatusOK, list)
}

func (s *service) getOrder(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if strings.HasPrefix(id, "missing") {
		reply(w, http.StatusNotFound, problem{"there is no such order"})
		return
	}
	reply(w, http.StatusOK, order{ID: id})
}

func (s *service) deleteOrder(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

// maxBody bounds what a login may send.
const maxBody = 4 << 10

func (s *service) login(w http.ResponseWriter, r *http.Request) {
	var attempt struct{ User, Password string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&attempt); err != nil {
		reply(w, http.StatusBadRequest, problem{`want JSON such as {"user":"u","password":"p"}`})
		return
	}
	if attempt.Password != "right" {
		reply(w, http.StatusUnauthorized, problem{"the password is wrong"})
		return
	}
	reply(w, http.StatusOK, struct {
		User string `json:"user"`
	}{attempt.User})
}

// maxWork is the longest that /work sleeps, in milliseconds.
const maxWork = 10_000

// work sleeps on although the client may have gone: like a query that nobody can
// cancel.
func (s *service) work(w http.ResponseWriter, r *http.Request) {
	ms, ok := number(r, "ms", 0, 0, maxWork)
	status, ok2 := number(r, "status", http.StatusOK, 200, 599)
	if !ok || !ok2 {
		reply(w, http.StatusBadRequest, problem{"want ms from 0 to 10000 and status from 200 to 599"})
		return
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	w.WriteHeader(status)
}

// number reads an integer from the query.
func number(r *http.Request, name string, def, low, high int) (int, bool) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return def, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && low <= n && n <= high
}

type product struct {
	Name  string `json:"name"`
	Price int    `json:"price"`
}

func catalogue() []product { return []product{{"tide table", 12}, {"sluice gate", 480}} }

func (s *service) listProducts(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, catalogue())
}

// cachedProducts answers for listProducts when that is limited.
func (s *service) cachedProducts(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Fallback", "cache")
	reply(w, http.StatusOK, catalogue())
}

func (s *service) showServed(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	served := maps.Clone(s.served)
	s.mu.Unlock()
	reply(w, http.StatusOK, served)
}

func notYet(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusNotImplemented, problem{"not supported yet"})
}

type problem struct {
	Error string `json:"error"`
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has left: there is nobody to tell
}
