package app

import (
	"strings"
	"testing"
)

// incumbentFlags are the flags of the vSphere CPI for the provider vsphere, of its v1.31 and v1.36.
const incumbentFlags = `
	cloud-config cloud-provider node-labels controllers use-service-account-credentials concurrent-node-syncs
	concurrent-node-status-updates concurrent-node-lifecycle-syncs kube-api-qps kube-api-burst
	leader-elect-retry-period leader-elect leader-elect-lease-duration leader-elect-renew-deadline
	leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace enable-leader-migration
	leader-migration-config node-monitor-period node-status-update-frequency min-resync-period
	controller-start-interval kubeconfig master kube-api-content-type authentication-kubeconfig
	authentication-skip-lookup authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure
	authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl
	authorization-webhook-cache-unauthorized-ttl client-ca-file requestheader-allowed-names
	requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
	requestheader-uid-headers requestheader-username-headers secure-port bind-address cert-dir tls-cert-file
	tls-private-key-file tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key
	disable-http2-serving http2-max-streams-per-connection permit-address-sharing permit-port-sharing webhooks
	webhook-bind-address webhook-cert-dir webhook-disable-http2-serving webhook-secure-port webhook-tls-cert-file
	webhook-tls-cipher-suites webhook-tls-curve-preferences webhook-tls-min-version webhook-tls-private-key-file
	webhook-tls-sni-cert-key cluster-name allocate-node-cidrs cidr-allocator-type cluster-cidr
	configure-cloud-routes route-reconciliation-period concurrent-service-syncs external-cloud-volume-plugin
	feature-gates profiling contention-profiling v vmodule log-flush-frequency logging-format
	log-json-info-buffer-size log-json-split-stream log-text-info-buffer-size log-text-split-stream help version
	allow-untagged-cloud node-sync-period
`

// TestFlagsOfTheIncumbent: the daemon has each flag of the vSphere CPI, but refuses those of the provider
// vsphere-paravirtual, and that provider.
func TestFlagsOfTheIncumbent(t *testing.T) {
	cmd := New(nil, Options{}).newCommand(t.Context(), newOptions(t))
	cmd.InitDefaultHelpFlag()
	for _, name := range strings.Fields(incumbentFlags) {
		if cmd.Flags().Lookup(name) == nil {
			t.Errorf("--%s is not taken", name)
		}
	}
	for _, name := range []string{"is-legacy-paravirtual", "enable-vpc-mode", "pod-ip-pool-type"} {
		if err := cmd.ParseFlags([]string{"--" + name}); err == nil || err.Error() != "unknown flag: --"+name {
			t.Errorf("--%s: %v", name, err)
		}
	}
	const want = `--cloud-provider is "vsphere-paravirtual"; this is the provider "vsphere"`
	if err := New(nil, Options{}).configure(t.Context(), "vsphere-paravirtual", ""); err == nil || err.Error() != want {
		t.Errorf("--cloud-provider=vsphere-paravirtual: %v, want %s", err, want)
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
