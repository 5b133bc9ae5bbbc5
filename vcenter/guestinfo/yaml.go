package guestinfo

import "go.yaml.in/yaml/v3"

type node = yaml.Node

const (
	mappingNode  = yaml.MappingNode
	sequenceNode = yaml.SequenceNode
	scalarNode   = yaml.ScalarNode
	aliasNode    = yaml.AliasNode
)

func unmarshal(data []byte, into any) error { return yaml.Unmarshal(data, into) }
