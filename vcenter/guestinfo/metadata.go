package guestinfo

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net/netip"
	"strings"

	"gopkg.in/yaml.v3"
)

const (
	// Key is the key in a machine's extraConfig.
	Key = "guestinfo.metadata"

	// maxSize bounds the text, in bytes, at each stage of its decoding. A
	// network configuration with a thousand addresses has a tenth of it.
	maxSize = 256 << 10
	// maxNodes bounds how much of a document is looked at, since aliases can
	// make one of any length out of a short text.
	maxNodes = 10_000
)

// These say why a text has no addresses to give, without a word of it.
var (
	errSize     = errors.New("the text is too long")
	errEncoding = errors.New("the text is neither YAML, nor base64 of YAML, nor base64 of gzipped YAML")
	errNodes    = errors.New("the network configuration is too long")
)

// Addresses returns the addresses that metadata configures, in the order in
// which it has them, each once. Metadata without a network configuration has
// none, and neither have interfaces that ask a server for theirs.
//
// The metadata is YAML or JSON, as it is or in base64, gzipped before that or
// not. What it is shows: a mapping has characters that base64 does not, and
// gzip begins with two bytes that no YAML has. So guestinfo.metadata.encoding
// need not be read too. The network configuration in it is cloud-init's, of
// version 1 or 2 (netplan), and may be encoded likewise.
func Addresses(metadata string) ([]netip.Addr, error) {
	root, err := document(metadata)
	if err != nil {
		return nil, err
	}
	r := reader{left: maxNodes}
	network := r.get(root, "network")
	if network != nil && network.Kind == yaml.ScalarNode {
		if network, err = document(network.Value); err != nil {
			return nil, err
		}
	}
	// A file of netplan has its content under this key, too.
	if inner := r.get(network, "network"); inner != nil {
		network = inner
	}
	r.version1(network)
	r.version2(network)
	if r.left < 0 {
		return nil, errNodes
	}
	return r.found, nil
}

// document returns the mapping that a text is, nil for an empty text.
func document(text string) (*yaml.Node, error) {
	plain, err := decode(strings.TrimSpace(text))
	if err != nil || len(plain) == 0 {
		return nil, err
	}
	var doc yaml.Node
	// The parser's error quotes the text.
	if yaml.Unmarshal(plain, &doc) != nil {
		return nil, errEncoding
	}
	if len(doc.Content) == 0 {
		return nil, nil // nothing but comments
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, errEncoding
	}
	return root, nil
}

// decode undoes base64, then gzip, as far as the text has them.
func decode(text string) ([]byte, error) {
	if len(text) > maxSize {
		return nil, errSize
	}
	if strings.ContainsAny(text, ":{#") {
		return []byte(text), nil
	}
	raw, err := base64.StdEncoding.DecodeString(text) // line breaks are skipped
	if err != nil {
		return nil, errEncoding
	}
	if !bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		return raw, nil
	}
	zipped, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, errEncoding
	}
	plain, err := io.ReadAll(io.LimitReader(zipped, maxSize+1))
	if err != nil {
		return nil, errEncoding
	}
	if len(plain) > maxSize {
		return nil, errSize
	}
	return plain, nil
}
