package guestinfo

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
)

const (
	// Key is the key in a machine's extraConfig.
	Key = "guestinfo.metadata"

	// maxNodes bounds how much of a document is looked at, since aliases can
	// make one of any length out of a short text.
	maxNodes = 10_000
)

// These say why a text has no addresses to give, without a word of it.
var (
	errEncoding  = errors.New("the text is neither YAML, nor base64 of YAML, nor base64 of gzipped YAML")
	errNodes     = errors.New("the network configuration is too long")
	errAddresses = fmt.Errorf("the network configuration has more than %d addresses", maxAddresses)
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
//
// Of an error nothing is read. It says which bound a text exceeds, and otherwise no
// more than that it cannot be read.
func Addresses(metadata string) ([]netip.Addr, error) {
	return guarded(func() ([]netip.Addr, error) { return addresses(metadata) })
}

// guarded turns a panic into an error: a parser may have defects, and whoever writes the
// text may look for them.
func guarded(read func() ([]netip.Addr, error)) (found []netip.Addr, err error) {
	defer func() {
		if recover() != nil {
			found = nil
			err = errEncoding
		}
	}()
	return read()
}

func addresses(metadata string) ([]netip.Addr, error) {
	if len(metadata) > MaxEncoded {
		return nil, ErrSize
	}
	root, err := document(metadata)
	if err != nil {
		return nil, err
	}
	r := reader{left: maxNodes}
	network := r.get(root, "network")
	if network != nil && network.Kind == scalarNode {
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
	switch {
	case r.left < 0:
		return nil, errNodes
	case len(r.found) > maxAddresses:
		return nil, errAddresses
	}
	return r.found, nil
}

// document returns the mapping that a text is, nil for an empty text.
func document(text string) (*node, error) {
	plain, err := decode(strings.TrimSpace(text))
	if err != nil || len(plain) == 0 {
		return nil, err
	}
	if err := measure(plain); err != nil {
		return nil, err
	}
	var doc node
	// The parser's error quotes the text.
	if unmarshal(plain, &doc) != nil {
		return nil, errEncoding
	}
	if len(doc.Content) == 0 {
		return nil, nil // nothing but comments
	}
	root := doc.Content[0]
	if root.Kind != mappingNode {
		return nil, errEncoding
	}
	return root, nil
}

// decode undoes base64, then gzip, as far as the text has them.
func decode(text string) ([]byte, error) {
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
	plain, err := io.ReadAll(io.LimitReader(zipped, MaxPlain+1))
	if err != nil {
		return nil, errEncoding
	}
	return plain, nil
}
