package load

import "testing"

// FuzzCertificates: whatever a file of certificates has, the first that is damaged is the one behind the sound ones.
func FuzzCertificates(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sound, damaged := Certificates(data)
		if damaged != 0 && damaged != len(sound)+1 {
			t.Errorf("%q: %d sound certificates, and number %d is damaged", data, len(sound), damaged)
		}
		_ = parseAuthority(string(data))
		_ = parseKey(string(data), string(data))
	})
}
