package preflight

import "crypto/x509"

// A Step is one of those that lead to a vCenter.
type Step string

// The steps, in their order.
const (
	// Done is that none has failed.
	Done Step = ""
	// Settings are the certificates of the configuration and the environment's proxy.
	Settings Step = "settings"
	// Resolve looks up the name of the vCenter.
	Resolve Step = "name resolution"
	// Proxy reaches the proxy, which has to reach the vCenter.
	Proxy Step = "proxy"
	// Connect opens a TCP connection.
	Connect Step = "connection"
	// TLS agrees on a protocol.
	TLS Step = "TLS"
	// Trust verifies the certificate.
	Trust Step = "certificate"
	// Answer is that of a vCenter.
	Answer Step = "answer"
)

// A Report is what came of one attempt to reach a vCenter.
type Report struct {
	VCenter string
	// Host is the host and port of the vCenter, Proxy those of the proxy, empty without one.
	Host, Proxy string
	// Failed is the step that has failed, and Err why: on one line, without anything secret.
	Failed Step
	Err    error
	// Certificate is what the vCenter has shown, nil if it came to none.
	Certificate *x509.Certificate
	// APIVersion is the newest version of the vSphere API that the vCenter names, empty if it names none.
	APIVersion string
}
