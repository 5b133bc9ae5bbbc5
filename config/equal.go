package config

import (
	"bytes"
	"slices"
)

// Equal says that both are the same vCenter with the same settings and
// credentials: nothing has to be done where one takes the place of the other.
// Positions in the file do not count, nor does which file the CA is from.
func (v *VCenter) Equal(o *VCenter) bool {
	return v.Name == o.Name &&
		v.Server == o.Server &&
		v.Port == o.Port &&
		slices.Equal(v.Datacenters, o.Datacenters) &&
		v.User == o.User &&
		v.Password.Equal(o.Password) &&
		v.Secret == o.Secret &&
		v.SecretsDirectory == o.SecretsDirectory &&
		v.Insecure == o.Insecure &&
		bytes.Equal(v.CA, o.CA) &&
		v.Thumbprint == o.Thumbprint &&
		v.Followed == o.Followed &&
		v.RoundTrips == o.RoundTrips &&
		slices.Equal(v.IPFamilies, o.IPFamilies)
}
