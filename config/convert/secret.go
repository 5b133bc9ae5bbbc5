package convert

import (
	"bytes"
	"fmt"
	"regexp"

	"vzones/config"
	"vzones/config/parse/manifest"
	"vzones/config/parse/yaml"
	"vzones/topology/quote"
)

// login is the account for an address.
type login struct {
	server, user string
	password     config.Password
	// line is where the file has it.
	line int
}

// secretKey is what Kubernetes accepts for a key of a Secret.
var secretKey = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// secretManifest returns the manifest of a Secret with accounts, by address: under
// <server>.username and <server>.password, and where that can be no key, as for an
// IPv6 address, under server_N, username_N and password_N.
func secretManifest(ref config.SecretRef, logins []login) config.Password {
	quoted := func(s string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	}
	data := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key, value string) { data.Content = append(data.Content, yaml.Scalar(key), quoted(value)) }
	suffix := 0
	for _, l := range logins {
		if secretKey.MatchString(l.server + ".username") {
			add(l.server+".username", l.user)
			add(l.server+".password", l.password.Reveal())
			continue
		}
		suffix++
		add(fmt.Sprintf("server_%d", suffix), l.server)
		add(fmt.Sprintf("username_%d", suffix), l.user)
		add(fmt.Sprintf("password_%d", suffix), l.password.Reveal())
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Secret\nmetadata:\n  namespace: %s\n  name: %s\ntype: Opaque\n",
		quote.Value(ref.Namespace), quote.Value(ref.Name))
	yaml.Encode(&b, &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{yaml.Scalar("stringData"), data}})
	return config.NewPassword(b.String())
}

// Secrets are manifests of Secrets that were read, with their content. The zero
// value has none.
type Secrets struct {
	all []secretContent
}

type secretContent struct {
	ref  config.SecretRef
	data map[string]config.Password
}

// Add reads the Secrets in a file of manifests, which may have other objects too. Its errors name
// the file and never hold any of its values.
func (s *Secrets) Add(file string, data []byte) error {
	objects, err := manifest.Read(file, data)
	if err != nil {
		return err
	}
	found := false
	for _, o := range objects {
		if o.Kind != manifest.Secret {
			continue
		}
		found = true
		c := secretContent{o.Ref, make(map[string]config.Password, len(o.Values))}
		for _, v := range o.Values {
			c.data[v.Key] = v.Content
		}
		s.all = append(s.all, c)
	}
	if !found {
		return fmt.Errorf("%s: there is no Secret in the file: name one with manifests of Secrets", file)
	}
	return nil
}

// of returns the content of the manifests that may be those of a Secret. One without
// a namespace serves any.
func (s *Secrets) of(ref config.SecretRef) []map[string][]byte {
	var all []map[string][]byte
	for _, c := range s.all {
		if c.ref.Name != ref.Name || c.ref.Namespace != "" && c.ref.Namespace != ref.Namespace {
			continue
		}
		data := make(map[string][]byte, len(c.data))
		for key, value := range c.data {
			data[key] = []byte(value.Reveal())
		}
		all = append(all, data)
	}
	return all
}
