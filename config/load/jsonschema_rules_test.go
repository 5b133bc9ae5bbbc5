package load

import (
	"regexp"
	"strings"

	"vzones/config"

	"vzones/topology"
)

// hasValue matches a key with a value: null and an empty text are no values.
func hasValue(key string) *jsonSchema {
	return &jsonSchema{Type: "object", Required: []string{key}, Properties: jsonProperties{{key, &jsonSchema{
		Not: &jsonSchema{Enum: []any{nil, ""}},
	}}}}
}

func anyOf(schemas ...*jsonSchema) *jsonSchema { return &jsonSchema{AnyOf: schemas} }

func not(s *jsonSchema) *jsonSchema { return &jsonSchema{Not: s} }

func notBoth(a, b *jsonSchema) *jsonSchema {
	return not(&jsonSchema{AllOf: []*jsonSchema{a, b}})
}

// Parts of patterns with the same meaning in RE2, which Helm uses, and in JavaScript, which editors
// use: without look-ahead and (?i).
const (
	// aName is as in parseName: not empty, no control characters, no blanks at its ends.
	aName = `[^\s\x00-\x1f\x7f]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?`

	octet   = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	ipv4    = octet + `(\.` + octet + `){3}`
	ipv6    = `[0-9A-Fa-f]*:[0-9A-Fa-f:.]*`
	aSubnet = `(` + ipv4 + `/(3[0-2]|[12]?[0-9])|` + ipv6 + `/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))`

	// lastPart is as in isHostName: the last label of a host name is not only digits.
	lastPart = `(([0-9_][0-9_-]{0,61})?[A-Za-z]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|[0-9_]+(-+[0-9_]+)+)`
	hostName = `(` + hostPart + `\.)*` + lastPart + `\.?`

	subdomain = `[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*`
	inLabel   = `[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?`
	hexPair   = `[0-9A-Fa-f]{2}`
)

// fullAddress is as in isFullAddress.
const fullAddress = `^(\[` + ipv6 + `\]|` + ipv6 + `|` + ipv4 + `|(` + hostPart + `\.)+` + lastPart + `\.?|` + lastPart + `\.)$`

const anyServer = `\[` + ipv6 + `\]|` + ipv6 + `|` + ipv4 + `|` + hostName

// pattern requires a text to be empty or match.
func pattern(expression, wrong string, examples ...any) func(*jsonSchema) {
	return func(s *jsonSchema) {
		s.Pattern, s.PatternErrorMessage, s.Examples = "^("+expression+")?$", wrong, examples
	}
}

func oneOf(words ...string) func(*jsonSchema) {
	return func(s *jsonSchema) {
		s.Type = nil
		for _, word := range words {
			s.Enum = append(s.Enum, word)
		}
		s.Enum = append(s.Enum, "", nil)
		s.ErrorMessage = "write " + alternatives(words)
	}
}

// anything adds nothing to the type.
func anything() func(*jsonSchema) { return func(*jsonSchema) {} }

func all(rules ...func(*jsonSchema)) func(*jsonSchema) {
	return func(s *jsonSchema) {
		for _, rule := range rules {
			rule(s)
		}
	}
}

func of(types ...string) func(*jsonSchema) {
	return func(s *jsonSchema) { s.Type = types }
}

// unless rejects matches of an expression.
func unless(expression, wrong string) func(*jsonSchema) {
	return func(s *jsonSchema) {
		s.AllOf = append(s.AllOf, &jsonSchema{Not: &jsonSchema{Type: "string", Pattern: expression}, ErrorMessage: wrong})
	}
}

func bounds(least, most int) func(*jsonSchema) {
	return func(s *jsonSchema) { s.Minimum, s.Maximum = &least, &most }
}

var aKind = of("string", "null")

const (
	wrongName   = "write a name without line breaks, nor blanks at its ends"
	wrongServer = "write a host name or an IP address, without a scheme, a port or a path"
	wrongSecret = "write lower-case letters, digits, - and ."
	wrongLabel  = "write up to 63 letters, digits, -, _ and ., after a prefix such as example.com/"
)

// jsonRules returns the constraints of each key, by its path.
func jsonRules() map[string]func(*jsonSchema) {
	subnets := all(aKind, pattern(`\s*`+aSubnet+`\s*(,\s*`+aSubnet+`\s*)*`,
		"write CIDRs with one comma between two of them", "10.0.0.0/8", "10.0.0.0/8,fd00::/8"))
	network := pattern(aName, wrongName, "VM Network")
	rules := map[string]func(*jsonSchema){
		"global": func(s *jsonSchema) {
			s.AllOf = append(s.AllOf, notBoth(hasValue("caFile"), hasValue("caData")))
		},
		"vcenter": vcenterRules,
		"labels":  sameSource,

		"global.server": all(of("string", "boolean", "null"), pattern(anyServer, wrongServer)),
		"both.server":   all(of("string", "boolean"), pattern(anyServer, wrongServer, "vc.example.com", "10.1.0.10", "fd00::10"), func(s *jsonSchema) { s.MinLength = 1 }),
		"both.user":     all(pattern(`[^\x00-\x1f\x7f]*|\s*-----BEGIN CERTIFICATE-----[^\x00]*`, wrongName, "vzones@vsphere.local"), unless(`PRIVATE KEY-----|^\s+$|^[^\s-].*\s$|^\s+[^\s-]`, "write a name without blanks at its ends, or a certificate without its key")),
		"both.password": anything(),
		"both.caFile":   all(pattern(`[^:]+(:[^:]+){0,63}`, "write the path of a PEM file, or of at most 64 with : between them", "/etc/vzones/ca.pem"), unless(beginPEM, "is a certificate: write it under caData")),
		"both.caData":   all(unless(`PRIVATE KEY-----|BEGIN CERTIFICATE REQUEST-----`, "write certificates alone"), pattern(`\s*`+systemCA+`\s*|[^\x00]*-----BEGIN [^\x00]*`, "write certificates with "+beginCertificate+", or "+systemCA)),
		"both.thumbprint": pattern(`\s*([Nn][Oo][Nn][Ee]|(`+hexPair+`:){19}`+hexPair+`|(`+hexPair+`:){31}`+hexPair+`|(`+hexPair+`){20}|(`+hexPair+`){32})\s*`,
			"write the SHA-1 or SHA-256 fingerprint, 20 or 32 pairs of hexadecimal digits, with or without colons",
			"BA:78:16:BF:8F:01:CF:EA:41:41:40:DE:5D:AE:22:23:B0:03:61:A3:96:17:7A:9C:B4:10:FF:61:F2:00:15:AD", NoThumbprint),
		"both.datacenters":        datacenterRules,
		"both.ipFamily":           familyRules,
		"both.secretName":         all(pattern(subdomain, wrongSecret, "vsphere-cloud-secret"), func(s *jsonSchema) { s.MaxLength = 253 }),
		"both.secretNamespace":    pattern(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`, "write lower-case letters, digits and -", "kube-system"),
		"global.secretsDirectory": all(aKind, pattern(`/([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f])?`, "write an absolute path, without blanks at its end", "/etc/cloud/secrets")),

		"labels.region":  all(pattern(aName, wrongName, "k8s-region", map[string]string{"tag": "k8s-region"}), ruleRules),
		"labels.zone":    all(pattern(aName, wrongName, "k8s-zone", map[string]any{"tag": "k8s-zone", "required": false}), ruleRules),
		"rule.tag":       pattern(aName, wrongName, "k8s-zone"),
		"rule.hostGroup": pattern(`(\*|[A-Za-z0-9])(([A-Za-z0-9_.*-])*(\*|[A-Za-z0-9]))?`, "write a name that a label's value can have; a * stands for any text", "site-*"),
		"rule.value":     all(aKind, pattern(`([A-Za-z0-9_.-]|\{[^{}]+\})*\{[^{}]+\}([A-Za-z0-9_.-]|\{[^{}]+\})*`, "write letters, digits, -, _, . and names of sources in braces", "{region}-{zone}"), unless(`\{tag:\s*\}`, "name the category of the tag")),

		"topology.settle": settleRules,
		"topology.paths":  pathRules,
		"topology.levels": func(s *jsonSchema) {
			s.MaxItems = maxLevels
			ruleRules(s.Items)
			s.Items.Required = []string{"label"}
			s.Examples = []any{[]any{map[string]string{"label": "example.com/rack", "tag": "k8s-rack"}}}
		},
		"topology.levels[].label": all(of("string", "number", "boolean"), labelKey, func(s *jsonSchema) {
			s.Examples = []any{"example.com/rack", topology.LabelRack}
			s.AllOf = append(s.AllOf, &jsonSchema{
				Not:          &jsonSchema{Type: "string", Pattern: reservedLabel, Not: &jsonSchema{Const: topology.LabelRack}},
				ErrorMessage: "is reserved: write a label with a prefix of your own, such as example.com/rack",
			})
		}),

		"nodes.internalNetworkSubnetCidr":        subnets,
		"nodes.externalNetworkSubnetCidr":        subnets,
		"nodes.excludeInternalNetworkSubnetCidr": subnets,
		"nodes.excludeExternalNetworkSubnetCidr": subnets,
		"nodes.internalVmNetworkName":            network,
		"nodes.externalVmNetworkName":            network,
		"nodes.networks":                         networkRules,
		"nodes.excludeNetworks": all(networkRules, func(s *jsonSchema) {
			unless(`^\*+$`, "write the names of the networks to leave out")(s.Items)
		}),
		"nodes.selector": all(of("string", "number", "boolean", "null"), pattern(`\s*[A-Za-z0-9!][A-Za-z0-9._/!=,()<>\s-]*`,
			"write a label selector as for kubectl get nodes -l", "vsphere=true,!metal")),
		"nodes.labels": labelRules,
	}
	return rules
}

// vcenterRules constrain the entries' names and combinations of keys.
func vcenterRules(s *jsonSchema) {
	s.PropertyNames = &jsonSchema{MaxLength: 253, Pattern: "^" + aName + "$", PatternErrorMessage: wrongName}
	s.MaxProperties = maxVCenters
	s.Examples = []any{map[string]any{"east": map[string]any{"server": "vc.example.com", "secretName": "vsphere-cloud-secret", "secretNamespace": "kube-system"}}}
	entry := s.AdditionalProperties.(*jsonSchema)
	name, namespace := hasValue("secretName"), hasValue("secretNamespace")
	together := "write secretName and secretNamespace in the same place"
	entry.AllOf = append(entry.AllOf,
		notBoth(hasValue("caFile"), hasValue("caData")),
		&jsonSchema{If: name, Then: namespace, ErrorMessage: together},
		&jsonSchema{If: namespace, Then: name, ErrorMessage: together},
		&jsonSchema{If: inPEM("user"), Then: anyOf(not(hasValue("password")), inPEM("password")), ErrorMessage: "the user is a certificate: write its PEM private key under password"},
		&jsonSchema{If: inPEM("password"), Then: anyOf(not(hasValue("user")), inPEM("user")), ErrorMessage: "the password is PEM: write the certificate of the private key under user"},
	)
	s.AllOf = append(s.AllOf, &jsonSchema{
		PatternProperties: jsonProperties{{fullAddress, &jsonSchema{}}},
		AdditionalProperties: &jsonSchema{
			Type: "object", Required: []string{"server"},
			ErrorMessage: "write server with a host name or an IP address: the name of the entry stands for it only if it is one",
		},
	})
}

// inPEM matches a key whose value is PEM.
func inPEM(key string) *jsonSchema {
	return &jsonSchema{Type: "object", Required: []string{key}, Properties: jsonProperties{{key, &jsonSchema{
		Type: "string", Pattern: `^\s*` + beginPEM,
	}}}}
}

// sameSource rejects one inventory source for region and zone.
func sameSource(s *jsonSchema) {
	for _, i := range topology.Inventories() {
		same := &jsonSchema{Type: "object"}
		for _, key := range []string{"region", "zone"} {
			same.Required = append(same.Required, key)
			same.Properties = append(same.Properties, jsonProperty{key, &jsonSchema{
				Type: "object", Required: []string{"inventory"}, Properties: jsonProperties{{"inventory", &jsonSchema{Const: string(i)}}},
			}})
		}
		s.AllOf = append(s.AllOf, &jsonSchema{Not: same, ErrorMessage: "region and zone use the same inventory object: change one of them"})
	}
}

// ruleRules require one source, or a value that needs none.
func ruleRules(s *jsonSchema) {
	sources := anyOf(hasValue("tag"), hasValue("inventory"), hasValue("hostGroup"), hasValue("value"))
	s.AllOf = append(s.AllOf, &jsonSchema{
		If: &jsonSchema{Type: "object"}, Then: sources, ErrorMessage: "write one of tag, inventory and hostGroup",
	})
	for _, pair := range [][2]string{{"tag", "inventory"}, {"tag", "hostGroup"}, {"inventory", "hostGroup"}} {
		both := notBoth(hasValue(pair[0]), hasValue(pair[1]))
		both.ErrorMessage = pair[0] + " conflicts with " + pair[1] + ": write only one of them"
		s.AllOf = append(s.AllOf, both)
	}
}

// datacenterRules accept commas in elements, and blank elements only if all are blank.
func datacenterRules(s *jsonSchema) {
	s.Examples = []any{[]string{"dc1"}, []string{"dc1", "/prod/dc2", "/lab/*"}}
	s.Items.Pattern = `^(\s*|[^,]*[^,\s][^,]*(,[^,]*[^,\s][^,]*)*)$`
	s.Items.PatternErrorMessage = "write names of datacenters, with one comma between two of them"
	unless(`[\x00-\x08\x0e-\x1f\x7f]|(^\s*|,\s*|/)\.\./|/\.\.(/|\s*,|\s*$)`, "write a name, or a path from the root folder on")(s.Items)
	unless(`(^|[^\\])\[[^\]]*$`, "is a malformed pattern: close each [ with ]")(s.Items)
	notSome(s, false)
}

// notSome rejects blank elements among others, and also duplicates if once is true.
func notSome(s *jsonSchema, once bool) {
	s.AllOf = append(s.AllOf, &jsonSchema{
		If:           &jsonSchema{Type: "array", Contains: not(anyOf(&jsonSchema{Type: "null"}, &jsonSchema{Type: "string", Pattern: `^\s*$`}))},
		Then:         &jsonSchema{Items: &jsonSchema{Type: []string{"string", "number", "boolean"}, Pattern: `\S`}, UniqueItems: once},
		ErrorMessage: "has an empty element: remove it",
	})
}

func familyRules(s *jsonSchema) {
	s.Examples = []any{[]string{"ipv4"}, []string{"ipv6", "ipv4"}}
	s.Items.Type = []string{"string", "null"}
	s.Items.Pattern, s.Items.PatternErrorMessage = `^\s*([iI][pP][vV][46])?\s*$`, "write ipv4 or ipv6, each as a separate element"
	notSome(s, true)
}

func pathRules(s *jsonSchema) {
	s.UniqueItems = true
	s.Items = &jsonSchema{ErrorMessage: "write compute, resourcePool or folder, each as a separate element"}
	for _, word := range config.PathWords {
		s.Items.Enum = append(s.Items.Enum, word)
	}
	s.Examples = []any{[]string{"compute"}}
}

func networkRules(s *jsonSchema) {
	s.MaxItems = maxNetworks
	s.Examples = []any{[]string{"prod-*"}}
	s.Items = &jsonSchema{Type: []string{"string", "number", "boolean"}, MinLength: 1, Pattern: "^" + aName + "$", PatternErrorMessage: wrongName}
}

func settleRules(s *jsonSchema) {
	const unit = `([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`
	s.Type = []string{"string", "integer", "null"}
	s.Minimum, s.Maximum = new(int), new(int)
	pattern(`\+?(`+unit+`)+|[+-]?0`, "write a number with its unit, such as 60s or 5m, up to 24h", "60s", "5m")(s)
	unless(`^\+?0*(2[5-9]|[3-9][0-9]|[1-9][0-9]{2,})(\.[0-9]*)?h`, "write a duration from 0s to 24h")(s)
	s.ErrorMessage = "write a number with its unit, such as 60s"
}

// reservedLabel is as in ParseLabelKey.
var reservedLabel = `^([^/]*\.)?(` + strings.ReplaceAll(strings.Join([]string{"kubernetes.io", "k8s.io", topology.CSIDomain}, "|"), ".", `\.`) + `)/|^` + regexp.QuoteMeta(topology.OwnDomain) + `/`

func labelKey(s *jsonSchema) {
	s.Pattern, s.PatternErrorMessage = `^(`+subdomain+`/)?`+inLabel+`$`, wrongLabel
}

func labelRules(s *jsonSchema) {
	s.PropertyNames = &jsonSchema{Not: &jsonSchema{Pattern: reservedLabel}}
	labelKey(s.PropertyNames)
	s.PropertyNames.ErrorMessage = "is reserved: write a label with a prefix of your own"
	value := s.AdditionalProperties.(*jsonSchema)
	value.Pattern, value.PatternErrorMessage = "^("+inLabel+")?$", "write up to 63 letters, digits, -, _ and ."
	s.Examples = []any{map[string]string{"example.com/platform": "vsphere"}}
}
