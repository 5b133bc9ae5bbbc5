package guestinfo

import "go.yaml.in/yaml/v3"

// A node is one of a YAML document. This file alone names the library, the maintained fork, which Kubernetes' libraries link already.
type node = yaml.Node

const (
	mappingNode  = yaml.MappingNode
	sequenceNode = yaml.SequenceNode
	scalarNode   = yaml.ScalarNode
	aliasNode    = yaml.AliasNode
)

func unmarshal(data []byte, into any) error { return yaml.Unmarshal(data, into) }
