package fleet

import (
	"crypto/x509"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// dial asks a vCenter for its version, trusting one certificate only.
func dial(t *testing.T, v *VCenter, trusted []byte) error {
	t.Helper()
	sc := soap.NewClient(v.URL(), false)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(trusted) {
		t.Fatal("no certificate")
	}
	sc.DefaultTransport().TLSClientConfig.RootCAs = roots
	t.Cleanup(sc.CloseIdleConnections)
	_, err := vim25.NewClient(deadline(t, 10*time.Second), sc)
	return err
}

func TestRenewCertificate(t *testing.T) {
	v, c := startOne(t)
	old := v.Certificate()
	if err := v.RenewCertificate(); err != nil {
		t.Fatal(err)
	}
	// The client may not have noticed yet that its connection is closed.
	c.CloseIdleConnections()
	if err := read(deadline(t, 10*time.Second), c); !soap.IsCertificateUntrusted(err) {
		t.Errorf("who trusts the old certificate: %v", err)
	}
	if err := dial(t, v, old); !soap.IsCertificateUntrusted(err) {
		t.Errorf("a new client that trusts the old certificate: %v", err)
	}
	if err := dial(t, v, v.Certificate()); err != nil {
		t.Errorf("who trusts the new certificate: %v", err)
	}
	if n := v.Sessions(); n != 1 {
		t.Errorf("%d sessions", n)
	}
	v.server.close()
	if err := v.RenewCertificate(); !errors.Is(err, errClosed) {
		t.Errorf("a closed vCenter: %v", err)
	}
}

func TestSetAddress(t *testing.T) {
	v, c := startOne(t)
	old := v.Certificate()
	if err := v.SetAddress("127.0.0.77"); err != nil {
		t.Fatal(err)
	}
	if v.Host() != "127.0.0.77" {
		t.Errorf("it listens on %s", v.URL())
	}
	c.CloseIdleConnections()
	if err := read(deadline(t, 10*time.Second), c); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("at its old address: %v", err)
	}
	for name, trusted := range map[string][]byte{"old": old, "new": v.Certificate()} {
		if err := dial(t, v, trusted); err != nil {
			t.Errorf("who trusts the %s certificate: %v", name, err)
		}
	}
	v.Refuse()
	if err := v.Recover(); err != nil {
		t.Fatal(err)
	}
	login(t, v)
	if err := v.SetAddress("192.0.2.1"); err == nil {
		t.Error("it listens on an address that this machine does not have")
	}
	v.server.close()
	if err := v.SetAddress("127.0.0.78"); !errors.Is(err, errClosed) {
		t.Errorf("a closed vCenter: %v", err)
	}
}

// TestSessionIDs: every session that there has been, ended or not.
func TestSessionIDs(t *testing.T) {
	v, c := startOne(t)
	loginREST(t, v, c)
	first := v.SessionIDs()
	if len(first) != 2 || slices.Contains(first, "") {
		t.Fatalf("%d session IDs", len(first))
	}
	v.EndSessions()
	login(t, v)
	if all := v.SessionIDs(); len(all) != 3 || !slices.Contains(all, first[0]) || !slices.Contains(all, first[1]) {
		t.Errorf("%d session IDs after another login", len(all))
	}
}
