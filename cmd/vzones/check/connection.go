package check

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"vzones/cmd/vzones/cli"
	"vzones/cmd/vzones/world"
	"vzones/config"
	"vzones/internal/quote"
	"vzones/topology"
	"vzones/vcenter"
	"vzones/vcenter/credentials"
	"vzones/vcenter/faults"
	"vzones/vcenter/inventory"
)

// expiryWarning is the threshold of the alert VzonesCertificateExpiresSoon.
const expiryWarning = 14 * 24 * time.Hour

type connectionCheck struct {
	*vcenterFacts
	states []inventory.State
	nodes  nodeList
	// hasCluster reports whether there are Nodes, and thus a cluster that can have Secrets.
	hasCluster bool
	now        time.Time
}

func (c *connectionCheck) find() (found []Finding) {
	if c.state.Err != nil {
		return []Finding{c.unread()}
	}
	ends := c.health.CertificateEnds
	if !ends.IsZero() && ends.Before(c.now.Add(expiryWarning)) {
		finding := c.about("VZ106", fmt.Sprintf("its certificate is trusted until %s: %s", day(ends), offered(c.preflight.Certificate)))
		finding.Command = c.showCertificate()
		found = append(found, finding)
	}
	if err := inventory.CheckInstance(c.states, c.config.Name); err != nil {
		found = append(found, c.about("VZ113", world.Plain(c.config.Name, err)))
	}
	return found
}

// about returns a finding about the vCenter, with the Nodes that wait for it.
func (c *connectionCheck) about(id, text string) Finding {
	name := c.config.Name
	isElsewhere := func(n *node) bool { return n.VCenter() != name && n.waitsFor(name) }
	if elsewhere := c.nodes.names(isElsewhere); len(elsewhere) > 0 {
		text += "; " + cli.Count(len(elsewhere), "more Node") + " may run on its VMs, which is unknown until it is read: " + quote.Some(elsewhere, quote.Most)
	}
	return Finding{
		ID: id, VCenter: name, Object: the(name), Text: text,
		Nodes: c.nodes.names(func(n *node) bool { return n.waitsFor(name) }),
	}
}

func (c *connectionCheck) unread() Finding {
	id, text := c.whyUnread()
	finding := c.about(id, text)
	secret := c.config.Secret
	switch id {
	case "VZ105":
		finding.HasAdvice = true
		finding.Command = c.showCertificate()
	case "VZ110":
		lacksSecret := apierrors.IsNotFound(c.state.Err) && c.hasCluster
		finding.HasAdvice = !lacksSecret
		if lacksSecret {
			finding.Command = cli.Shell("kubectl", "-n", secret.Namespace, "create", "secret", "generic", "--from-file=DIRECTORY", secret.Name)
		}
	case "VZ111":
		finding.Advice, finding.Command = correct(c.config)
	}
	return finding
}

func (c *connectionCheck) showCertificate() string {
	return cli.Shell("govc", "about.cert", "-k", "-u", c.preflight.Host)
}

// correct describes where to correct the rejected credentials of a vCenter.
func correct(cfg *config.VCenter) (advice, command string) {
	secret := cfg.Secret
	where := fmt.Sprintf("user and password of vCenter %s in the configuration", quote.Value(cfg.Name))
	switch {
	case secret.Name != "":
		where = fmt.Sprintf("the keys %s.username and %[1]s.password of Secret %s/%s", cfg.Server, secret.Namespace, secret.Name)
		command = cli.Shell("kubectl", "-n", secret.Namespace, "edit", "secret", secret.Name)
	case cfg.SecretsDirectory != "":
		where = fmt.Sprintf("the files %s.username and %[1]s.password in %s", cfg.Server, cfg.SecretsDirectory)
	}
	return "If the password was changed, correct " + where + ". Otherwise check in vCenter whether the account is locked or expired.", command
}

// whyUnread returns the kind of finding and the reason. A failed step of the preflight takes precedence
// over missing credentials: they are looked up by the server name, which may be wrong.
func (c *connectionCheck) whyUnread() (id, reason string) {
	state := c.state
	result := c.preflight
	text := world.Plain(state.VCenter, state.Err)
	cause := faults.CauseOf(state.Err)
	if result.Failed != stepDone && cause == inventory.CauseCredentials {
		cause = ""
	}
	switch cause {
	case inventory.CauseCredentials:
		return "VZ110", text
	case inventory.CauseRejected, inventory.CausePostponed:
		return "VZ111", text
	case inventory.CauseUntrusted:
		if result.Certificate != nil {
			text += "; the certificate is for " + subjectNames(result.Certificate)
		}
		return "VZ105", text
	case inventory.CauseDenied:
		return "VZ112", text
	case inventory.CauseFault, inventory.CauseInternal:
		return "VZ108", text
	}
	if result.Failed == stepAnswer && errors.Is(result.Err, context.DeadlineExceeded) {
		return "VZ109", result.Err.Error() + through(result) + ", although it accepts connections"
	}
	if result.Failed != stepDone {
		return stepKinds[result.Failed], strings.TrimSpace(result.Err.Error() + through(result))
	}
	switch {
	case errors.As(state.Err, new(*world.LateError)), errors.Is(state.Cause, inventory.CausePending):
		return "VZ109", "it responds, but was not read completely within --timeout"
	case errors.As(state.Err, new(*vcenter.SlowLoginError)), errors.Is(state.Err, context.DeadlineExceeded):
		return "VZ109", text
	}
	return "VZ108", text
}

var stepKinds = map[preflightStep]string{
	stepSettings: "VZ108", stepResolve: "VZ101", stepProxy: "VZ103", stepConnect: "VZ102",
	stepTLS: "VZ104", stepTrust: "VZ105", stepAnswer: "VZ108",
}

// warnings reports the warnings of the configuration. Warnings about the CSI driver are reported as
// ConflictNotCSI, which applies only where the driver runs.
func (f *facts) warnings() (found []Finding) {
	for i := range f.config.Warnings {
		w := &f.config.Warnings[i]
		if w.IsCSI {
			continue
		}
		position := w.Field
		if w.Line > 0 {
			position = fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Field)
		}
		if w.Field == "" {
			position = strings.TrimSuffix(position, ": ")
		}
		id := "VZ190"
		if w.IsOverride {
			id = "VZ191"
		}
		found = append(found, Finding{ID: id, VCenter: w.VCenter, Object: quote.Text(position), Text: quote.Text(w.Message), HasAdvice: true})
	}
	return found
}

func nameOf(o *topology.Object) string { return topology.DescribeObjects([]*topology.Object{o}) }

func the(vcenter string) string { return "vCenter " + quote.Plain(vcenter) }

func through(r *preflight) string {
	if r.Proxy == "" {
		return ""
	}
	return " (through the proxy " + quote.Plain(r.Proxy) + ")"
}

func offered(c *x509.Certificate) string {
	if c == nil {
		return "no certificate received"
	}
	return fmt.Sprintf("presented SHA-256 %s, subject %s, for %s, valid until %s",
		soap.ThumbprintSHA256(c), quote.Value(credentials.DistinguishedName(c.Subject)), subjectNames(c), day(c.NotAfter))
}

func subjectNames(c *x509.Certificate) string {
	var sans []string
	for _, n := range c.DNSNames {
		sans = append(sans, quote.Value(n))
	}
	for _, ip := range c.IPAddresses {
		sans = append(sans, ip.String())
	}
	if len(sans) == 0 {
		return "no names"
	}
	return quote.Some(sans, quote.Most)
}

func day(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }
