package load

import (
	"slices"
	"testing"
)

// TestOneVCenterTwice: an entry of a vCenter that has one already is right if its account
// or its datacenters differ.
func TestOneVCenterTwice(t *testing.T) {
	const file = `
vcenter:
  one:
    server: vc.example.com
    user: one
    password: S3cretS3cret
  two:
    server: VC.example.com.
    user: two
    password: S3cretS3cret
  secret-one: {server: vc.example.com, secretName: one, secretNamespace: kube-system}
  secret-two: {server: vc.example.com, secretName: two, secretNamespace: kube-system}
  dc1: {server: 10.0.0.1, user: user, password: S3cretS3cret, datacenters: [dc1]}
  dc2: {server: 10.0.0.1, user: user, password: S3cretS3cret, datacenters: [dc2]}
  all: {server: 10.0.0.1, user: user, password: S3cretS3cret}
`
	c, err := Parse("f.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for i := range c.VCenters {
		addresses = append(addresses, c.VCenters[i].Address())
	}
	if got := slices.Compact(addresses); !slices.Equal(got, []string{"vc.example.com:443", "10.0.0.1:443"}) || len(c.VCenters) != 7 || len(c.Warnings) > 0 {
		t.Errorf("got %v, %v", got, c.Warnings)
	}
}
