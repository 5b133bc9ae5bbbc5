package parse_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"vzones/config/configtest"
	"vzones/config/parse"
)

// linksOf are all variables that Kubernetes sets for a Service with one named port.
func linksOf(service, address string, port int, protocol string) []string {
	s := strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
	host := address
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	url := fmt.Sprintf("%s://%s:%d", strings.ToLower(protocol), host, port)
	prefix := fmt.Sprintf("%s_PORT_%d_%s", s, port, protocol)
	return []string{
		s + "_SERVICE_HOST=" + address, fmt.Sprintf("%s_SERVICE_PORT=%d", s, port), fmt.Sprintf("%s_SERVICE_PORT_HTTPS=%d", s, port),
		s + "_PORT=" + url, prefix + "=" + url, prefix + "_PROTO=" + strings.ToLower(protocol),
		fmt.Sprintf("%s_PORT=%d", prefix, port), prefix + "_ADDR=" + address,
	}
}

// TestServiceLinks: what Kubernetes sets for a Service is not what somebody wrote.
func TestServiceLinks(t *testing.T) {
	text := []byte(inYAML)
	remark := func(name, service string) string {
		return "environment variable " + name + `: is ignored, with others like it: Kubernetes sets it in the Pod for the Service "` + service +
			`": write enableServiceLinks: false into the Pod's specification`
	}
	for _, c := range []struct {
		environ []string
		want    []string
	}{
		{linksOf("vsphere-vcenter", "10.96.0.7", 443, "TCP"), []string{remark("VSPHERE_VCENTER_PORT", "vsphere-vcenter")}},
		{linksOf("vsphere-vcenter", "fd00::7", 53, "UDP"), []string{remark("VSPHERE_VCENTER_PORT", "vsphere-vcenter")}},
		{linksOf("vsphere-vcenter-east", "10.96.0.7", 9, "SCTP"), []string{remark("VSPHERE_VCENTER_EAST_PORT", "vsphere-vcenter-east")}},
		{
			slices.Concat(linksOf("vsphere-vcenter", "10.96.0.7", 443, "TCP"), linksOf("vsphere-vcenter-port", "10.96.0.8", 443, "TCP")),
			[]string{remark("VSPHERE_VCENTER_PORT", "vsphere-vcenter"), remark("VSPHERE_VCENTER_PORT_PORT", "vsphere-vcenter-port")},
		},
		{linksOf("vsphere", "10.96.0.7", 443, "TCP"), nil},
		{linksOf("vsphere-user", "10.96.0.7", 443, "TCP"), nil},
		{linksOf("kubernetes", "10.96.0.1", 443, "TCP"), nil},
	} {
		config, err := parse.Parse("f", text, c.environ...)
		if err != nil {
			t.Errorf("%q: %v", c.environ, err)
			continue
		}
		var got []string
		for _, w := range config.Warnings {
			got = append(got, w.String())
		}
		if !slices.Equal(got, c.want) || config.VCenters[0].Port != 8443 {
			t.Errorf("%q: got %q, want %q; port %d", c.environ, got, c.want, config.VCenters[0].Port)
		}
	}
}

// TestNoServiceLinks: what only looks like one was written by somebody.
func TestNoServiceLinks(t *testing.T) {
	text := []byte("global: {user: u, password: p, port: 8443}\n")
	config, err := parse.Parse("f", text, "VSPHERE_VCENTER=10.0.0.1", "VSPHERE_VCENTER_PORT=9443")
	if err != nil || config.VCenters[0].Port != 9443 {
		t.Errorf("got %+v, %v", config, err)
	}
	for _, variable := range []string{
		"VSPHERE_VCENTER_PORT=https://10.0.0.1:443", "VSPHERE_VCENTER_PORT=tcp://vc.example.com:443", "VSPHERE_VCENTER_PORT=tcp://10.0.0.1",
	} {
		config, err := parse.Parse("f", text, "VSPHERE_VCENTER=10.0.0.1", variable)
		if err != nil || config.VCenters[0].Port != 8443 {
			t.Errorf("%s: got %+v, %v", variable, config, err)
			continue
		}
		const want = "environment variable VSPHERE_VCENTER_PORT: is ignored, because it is not a port: write a number from 1 to 65535, or remove it"
		if told := configtest.WarningsOf(config); !slices.Contains(told, want) {
			t.Errorf("%s: got warnings %q", variable, told)
		}
	}
	for _, variable := range []string{
		"VSPHERE_VCENTER_EAST_PORT=443", "VSPHERE_VCENTER_EAST=10.0.0.1", "VSPHERE_VCENTER_SERVICE_HOST=vc.example.com",
		"VSPHERE_VCENTER_PORT_443_TCP_PROTO=443",
	} {
		if _, err := parse.Parse("f", text, "VSPHERE_VCENTER=10.0.0.1", variable); err == nil {
			t.Errorf("%s is not refused", variable)
		}
	}
}
