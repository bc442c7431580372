package httpmw

import (
	"net/http"

	"github.com/tidegate/tidegate/core"
)

// CertificatePrincipal returns who a verified client certificate is for: its first
// URI name (such as a SPIFFE id), else its subject. It returns "" when the
// connection has no client certificate or the server did not verify it
// (tls.Config.ClientAuth below VerifyClientCertIfGiven): an unverified one says
// nothing.
func CertificatePrincipal(r *http.Request) string {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || len(r.TLS.VerifiedChains[0]) == 0 {
		return ""
	}
	leaf := r.TLS.VerifiedChains[0][0]
	if len(leaf.URIs) > 0 {
		return leaf.URIs[0].String()
	}
	return leaf.Subject.String()
}

// ByCertificate identifies callers by verified client certificate, all of one
// tier. Use it with [Identify]; for tiers of your own call [CertificatePrincipal].
func ByCertificate(tier string) func(*http.Request) core.Identity {
	return func(r *http.Request) core.Identity {
		if principal := CertificatePrincipal(r); principal != "" {
			return core.Identity{Principal: principal, Tier: tier}
		}
		return core.Identity{}
	}
}
