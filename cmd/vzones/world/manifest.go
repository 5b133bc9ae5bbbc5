package world

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"vzones/config"
	"vzones/config/load"
	"vzones/internal/quote"
)

// Kinds of objects in manifests.
const (
	KindConfigMap = "ConfigMap"
	KindSecret    = "Secret"
)

// Manifest is a ConfigMap or a Secret.
type Manifest struct {
	Kind string
	// Ref is its name, with its namespace if the manifest sets one.
	Ref config.SecretRef
	// Line is its first line in the file, from 1.
	Line int
	// Values have unique keys, in the order of the file. stringData takes precedence over data.
	Values []ManifestValue
}

func (o Manifest) String() string {
	name := o.Ref.Name
	if name == "" {
		return o.Kind + " without a name"
	}
	if o.Ref.Namespace != "" {
		name = o.Ref.Namespace + "/" + name
	}
	return o.Kind + " " + quote.Name(name)
}

// ManifestValue is the value of a key, which may be secret.
type ManifestValue struct {
	Key     string
	Content config.Password
	// Line is the line of the key. First is the line of the file on which the content begins, or 0 if
	// the lines of the content are not lines of the file, as in a quoted string.
	Line, First int
}

// IsManifest reports whether the first document of a file has an apiVersion and a kind.
func IsManifest(data []byte) bool {
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if d.Decode(&doc) != nil {
			return false
		}
		if root := content(&doc); root != nil {
			return text(root, "apiVersion") != "" && text(root, "kind") != ""
		}
	}
}

// ReadManifests returns the ConfigMaps and Secrets in a file, including items of Lists, and skips other
// objects. Errors contain the file and the line, and no values.
func ReadManifests(file string, data []byte) ([]Manifest, error) {
	var manifests []Manifest
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return manifests, nil
		}
		if err != nil {
			line := load.BrokenLine(data, err)
			return nil, fmt.Errorf("%s:%d: invalid YAML from this line on", file, line)
		}
		if root := content(&doc); root != nil {
			if manifests, err = appendManifests(manifests, file, root, true); err != nil {
				return nil, err
			}
		}
	}
}

func content(doc *yaml.Node) *yaml.Node {
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	return doc.Content[0]
}

// appendManifests appends an object or the items of a List. Lists in Lists are not supported.
func appendManifests(manifests []Manifest, file string, n *yaml.Node, lists bool) ([]Manifest, error) {
	kind := text(n, "kind")
	if items := lookup(n, "items"); lists && items != nil && strings.HasSuffix(kind, "List") {
		for _, item := range items.Content {
			if item = follow(item); item.Kind == yaml.MappingNode {
				var err error
				if manifests, err = appendManifests(manifests, file, item, false); err != nil {
					return nil, err
				}
			}
		}
		return manifests, nil
	}
	if kind != KindConfigMap && kind != KindSecret {
		return manifests, nil
	}
	o := Manifest{Kind: kind, Line: n.Line}
	if meta := lookup(n, "metadata"); meta != nil {
		o.Ref = config.SecretRef{Namespace: text(meta, "namespace"), Name: text(meta, "name")}
	}
	encoded := "binaryData"
	plain := "data"
	if kind == KindSecret {
		encoded = "data"
		plain = "stringData"
	}
	if err := o.add(file, n, encoded, true); err != nil {
		return nil, err
	}
	if err := o.add(file, n, plain, false); err != nil {
		return nil, err
	}
	return append(manifests, o), nil
}

func (o *Manifest) add(file string, n *yaml.Node, below string, encoded bool) error {
	values := lookup(n, below)
	if values == nil || values.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(values.Content); i += 2 {
		key := values.Content[i]
		value := follow(values.Content[i+1])
		if value.Kind != yaml.ScalarNode {
			return fmt.Errorf("%s:%d: %s of %s: the value of key %s is not a string", file, key.Line, below, o, quote.Value(key.Value))
		}
		v := ManifestValue{Key: key.Value, Line: key.Line}
		content := value.Value
		switch {
		case isNull(value):
			content = ""
		case value.ShortTag() != "!!str":
			return fmt.Errorf("%s:%d: %s of %s: the value of key %s is not a string: quote it", file, key.Line, below, o, quote.Value(key.Value))
		case encoded:
			raw, err := base64.StdEncoding.DecodeString(content)
			if err != nil {
				return fmt.Errorf("%s:%d: %s of %s: the value of key %s is not valid base64", file, key.Line, below, o, quote.Value(key.Value))
			}
			content = string(raw)
		case value.Style&yaml.LiteralStyle != 0:
			v.First = value.Line + 1
		}
		v.Content = config.NewPassword(content)
		o.set(v)
	}
	return nil
}

func (o *Manifest) set(v ManifestValue) {
	for i := range o.Values {
		if o.Values[i].Key == v.Key {
			o.Values[i] = v
			return
		}
	}
	o.Values = append(o.Values, v)
}

func text(n *yaml.Node, key string) string {
	if c := lookup(n, key); c != nil && c.Kind == yaml.ScalarNode && !isNull(c) {
		return c.Value
	}
	return ""
}

func lookup(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return follow(mapping.Content[i+1])
		}
	}
	return nil
}

func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
