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
	// Key is a key in a VM's extraConfig.
	Key = "guestinfo.metadata"

	// maxNodes bounds the visited nodes, since aliases can expand a short text without limit.
	maxNodes = 10_000
)

var (
	errEncoding  = errors.New("the text is neither YAML, nor base64 of YAML, nor base64 of gzipped YAML")
	errNodes     = errors.New("the network configuration is too long")
	errAddresses = fmt.Errorf("the network configuration has more than %d addresses", maxAddresses)
)

// Addresses returns the configured addresses in order, without duplicates. With DHCP or without a
// network configuration it returns none.
//
// The metadata is YAML or JSON: plain, in base64, or gzipped in base64. Plain text is recognized by
// characters that base64 lacks. The network configuration is cloud-init's, version 1 or 2 (netplan), and
// may itself be encoded.
func Addresses(metadata string) ([]netip.Addr, error) {
	return guarded(func() ([]netip.Addr, error) { return addresses(metadata) })
}

// guarded returns a panic as an error. A guest may exploit a defect of the parser.
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
	r := reader{budget: maxNodes}
	network := r.get(root, "network")
	if network != nil && network.Kind == scalarNode {
		if network, err = document(network.Value); err != nil {
			return nil, err
		}
	}
	// A netplan file has its own key network.
	if inner := r.get(network, "network"); inner != nil {
		network = inner
	}
	r.version1(network)
	r.version2(network)
	switch {
	case r.budget < 0:
		return nil, errNodes
	case len(r.found) > maxAddresses:
		return nil, errAddresses
	}
	return r.found, nil
}

func document(text string) (*node, error) {
	plain, err := decode(strings.TrimSpace(text))
	if err != nil || len(plain) == 0 {
		return nil, err
	}
	if err := checkCost(plain); err != nil {
		return nil, err
	}
	var doc node
	// The parser's error quotes the text.
	if unmarshal(plain, &doc) != nil {
		return nil, errEncoding
	}
	if len(doc.Content) == 0 {
		return nil, nil // Only comments.
	}
	root := doc.Content[0]
	if root.Kind != mappingNode {
		return nil, errEncoding
	}
	return root, nil
}

func decode(text string) ([]byte, error) {
	if strings.ContainsAny(text, ":{#") {
		return []byte(text), nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
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
