package session

import (
	"crypto/tls"
	"crypto/x509"
	"strconv"
	"strings"
)

// managerTrust is what an error about a session manager's certificate tells besides.
type managerTrust struct {
	vcenter, host        string
	insecure, thumbprint bool // whether the vCenter has one, which does not count
}

// forManager verifies a session manager, always, since it is sent a bearer token: by
// the system's authorities and the configured ones. insecureFlag and thumbprint are
// about the vCenter's certificate: neither says who may get the token.
func (t *trust) forManager(host string) *tls.Config {
	return verifying(func(cs tls.ConnectionState) error { return t.now.Load().verifyManager(cs, host) })
}

func (a *authority) verifyManager(cs tls.ConnectionState, host string) error {
	roots := a.roots
	if roots != nil {
		if system, err := x509.SystemCertPool(); err == nil { // without them the configured ones are left
			system.AppendCertsFromPEM(a.ca)
			roots = system
		}
	}
	_, err := a.chain(cs, host, roots, &managerTrust{
		vcenter: a.vcenter, host: host, insecure: a.insecure, thumbprint: a.thumbprint != "",
	})
	return err
}

// describe says what a server is: the session manager, or a proxy before it that is
// spoken to with TLS.
func (m *managerTrust) describe(server string) string {
	manager := "the session manager " + m.host + " of vCenter " + strconv.Quote(m.vcenter)
	if server == strings.TrimSuffix(m.host, ".") { // a server's name has no final dot
		return manager
	}
	return server + ", on the way to " + manager + ","
}

// note says what is configured and does not count.
func (m *managerTrust) note() string {
	var keys []string
	if m.insecure {
		keys = append(keys, "insecureFlag")
	}
	if m.thumbprint {
		keys = append(keys, "thumbprint")
	}
	switch len(keys) {
	case 0:
		return ""
	case 1:
		return "; " + keys[0] + " does not count for it"
	}
	return "; " + strings.Join(keys, " and ") + " do not count for it"
}
