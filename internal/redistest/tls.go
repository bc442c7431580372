package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Files name a certificate and its key.
type Files struct{ Cert, Key string }

// Certificate makes a certificate for this machine, and returns whom to trust for it.
func Certificate(t testing.TB) (Files, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tides"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	secret, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	dir := t.TempDir()
	f := Files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, os.WriteFile(f.Cert, certificate, 0o600))
	must(t, os.WriteFile(f.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret}), 0o600))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	return f, roots
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// StartTLS starts the process with its port for TLS, and waits until somebody listens.
func (s *Server) StartTLS() {
	s.t.Helper()
	s.args = append(s.args, "--tls-port", strconv.Itoa(s.port))
	s.Launch()
	Await(s.t, "nobody listens at "+s.Addr(), func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return false
		}
		return c.Close() == nil
	})
}
