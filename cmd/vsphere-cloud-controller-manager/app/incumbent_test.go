package app

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// flagName is a flag as documents write it.
var flagName = regexp.MustCompile("`--([a-z0-9-]+)`")

// TestFlagsAreCompared: the comparison with the incumbent has every flag of the daemon
// once, and no other, but for those that it says are not taken, with the error.
func TestFlagsAreCompared(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/compared-with-the-cpi.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Flags\n")
	table, _, _ = strings.Cut(table, "\n## ")
	cmd := New(nil, Options{}).newCommand(t.Context(), newOptions(t))
	flags := map[string]bool{}
	cmd.InitDefaultHelpFlag()
	cmd.Flags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = true })
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		taken := strings.TrimSpace(cells[2]) != "not taken"
		for _, found := range flagName.FindAllStringSubmatch(cells[1], -1) {
			name := found[1]
			if listed[name] {
				t.Errorf("--%s is there twice", name)
			}
			listed[name] = true
			if flags[name] != taken {
				t.Errorf("--%s is listed as %s, and is taken: %v", name, strings.TrimSpace(cells[2]), flags[name])
			}
			if taken {
				continue
			}
			refused := cmd.ParseFlags([]string{"--" + name})
			_, quoted, _ := strings.Cut(cells[3], "`unknown flag")
			if refused == nil || !strings.HasPrefix(quoted, "`") || refused.Error() != "unknown flag: --"+name {
				t.Errorf("--%s is refused with %v, the table has %s", name, refused, cells[3])
			}
		}
	}
	for name := range flags {
		if !listed[name] {
			t.Errorf("--%s is missing", name)
		}
	}
	if len(listed) < 50 {
		t.Errorf("only %d flags found", len(listed))
	}
	const other = "vsphere-paravirtual"
	if err := New(nil, Options{}).configure(t.Context(), other, ""); err == nil || !strings.Contains(table, "`"+err.Error()+"`") {
		t.Errorf("--cloud-provider=%s is refused with %v, which the table does not have", other, err)
	}
}

// TestCommandLinesOfPlatforms: what Gardener and OpenShift start the incumbent with (read in
// gardener/gardener-extension-provider-vsphere and
// openshift/cluster-cloud-controller-manager-operator).
func TestCommandLinesOfPlatforms(t *testing.T) {
	for name, line := range map[string]string{
		"Gardener": "--allocate-node-cidrs=true --cloud-provider=vsphere --cloud-config=/etc/kubernetes/cloudprovider/cloudprovider.conf " +
			"--cluster-cidr=100.96.0.0/11 --cluster-name=shoot--a--b --concurrent-service-syncs=10 --configure-cloud-routes=true " +
			"--kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--authentication-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--authorization-kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig " +
			"--leader-elect=true --secure-port=10258 --tls-cert-file=/var/lib/cloud-controller-manager-server/tls.crt " +
			"--tls-private-key-file=/var/lib/cloud-controller-manager-server/tls.key --tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384 --v=2",
		"OpenShift": "--v=3 --cloud-config=/etc/kubernetes-cloud-config/cloud.conf --cloud-provider=vsphere --controllers=* " +
			"--configure-cloud-routes=false --bind-address=127.0.0.1 --cluster-name=cluster-x7k2p --leader-elect=true " +
			"--leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s --leader-elect-retry-period=26s " +
			"--leader-elect-resource-namespace=openshift-cloud-controller-manager --feature-gates= --use-service-account-credentials=true",
	} {
		if _, err := parseFlags(t, strings.Fields(line)...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
