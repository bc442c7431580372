// Package httpmwtest is the suite that every adapter passes: the same black-box
// behaviour over real sockets, in HTTP/1.1 and HTTP/2, whatever the framework.
//
// An adapter's tests translate an [App] into their framework and call [Run]:
//
//	func TestAdapter(t *testing.T) { httpmwtest.Run(t, mount) }
//
// Each case is a sentence of what users rely on, and each has an adapter that is
// wrong on purpose and must be caught by it.
package httpmwtest
