package session

import (
	"strconv"
	"strings"
)

// managerTrust is what an error about a session manager's certificate gives in addition.
type managerTrust struct {
	vcenter, host        string
	insecure, thumbprint bool // whether the vCenter has one, which does not count
}

// describe returns what a server is: the session manager, or a proxy before it that is
// spoken to with TLS.
func (m *managerTrust) describe(server string) string {
	manager := "the session manager " + m.host + " of vCenter " + strconv.Quote(m.vcenter)
	if server == strings.TrimSuffix(m.host, ".") { // a server's name has no final dot
		return manager
	}
	return server + ", on the way to " + manager + ","
}

// note returns what is configured and does not count.
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
