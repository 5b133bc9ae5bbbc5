package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"vzones/provider/nodeinfo"
	"vzones/test/stack"
)

// A state is the observed state of one Node.
type state struct {
	*registration
	// node is nil if the Node does not exist.
	node   *v1.Node
	events []*v1.Event
}

// A check returns "" if a condition is met, and otherwise a description of the actual state.
type check func(s state) string

// A conditionKind is one kind of condition. The value for parse follows the = of the first word; parse may read
// further words.
type conditionKind struct {
	usage   string
	summary string
	parse   func(a *arguments, value string) check
}

const none = "none"

func conditions() []conditionKind {
	return []conditionKind{
		{"region=REGION", "the region label and its beta label have this value; `none`: neither label exists", topologyCheck(v1.LabelTopologyRegion, v1.LabelFailureDomainBetaRegion)},
		{"zone=ZONE", "the zone label and its beta label have this value; `none`: neither label exists", topologyCheck(v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone)},
		{"provider=ID", "the Node has this provider ID; `yes`: the provider ID of the VM for which the Node was created; `none`: no provider ID", providerCheck},
		{"initialized", "the Node does not have the cloud provider's taint", func(*arguments, string) check {
			return present(func(s state) string { return unless(stack.Initialized(s.node), "uninitialized") })
		}},
		{"uninitialized", "the Node has the cloud provider's taint", func(*arguments, string) check {
			return present(func(s state) string { return unless(!stack.Initialized(s.node), "initialized") })
		}},
		{"tainted TAINT", "the Node has this taint; a key without a slash gets the prefix `node.cloudprovider.kubernetes.io/`", taintCheck(true)},
		{"untainted TAINT", "the Node does not have this taint", taintCheck(false)},
		{"exists", "the Node created by the script still exists; with the flag `-outofservice`, without vzones' out-of-service taint", func(*arguments, string) check {
			return present(func(s state) string {
				return unless(!isOutOfService(s.node) || !*setOutOfService, "the out-of-service taint")
			})
		}},
		{"gone", "the Node created by the script no longer exists", func(*arguments, string) check {
			return func(s state) string { return unless(s.node == nil, "exists") }
		}},
		{"label KEY=VALUE", "the Node has this label; `KEY=none`: it has no label with this key", labelCheck},
		{"annotation KEY=VALUE", "the Node has this annotation; `KEY=none`: it has no annotation with this key", annotationCheck},
		{"vm=VM", "the annotation `" + nodeinfo.KeyVM + "` contains this VM's vCenter and managed object ID; `yes`: of the VM for which the Node was created; `none`: the annotation does not exist", vmCheck},
		{"address TYPE=ADDRESS", "the first address of this type, such as `InternalIP`, has this value; `none`: the Node has no address of this type", addressCheck},
		{"addresses LIST", "the Node has exactly these addresses, in this order, such as `\"InternalIP=10.0.0.1 ExternalIP=10.0.0.1\"`", addressesCheck},
		{"untouched", "only the script has written to the Node, and the Node has no Events", func(*arguments, string) check { return present(untouched) }},
		{"unchanged", "nothing has been written to the Node since `mark nodes`, except the condition `" + nodeinfo.TopologyReady + "`", func(*arguments, string) check { return present(unchanged) }},
		{"unwritten", "nothing has been written to the Node since `mark nodes`", func(*arguments, string) check { return present(unwritten) }},
		{"as-marked", "nothing in the Node has changed since `mark nodes`, except vzones' own labels, annotations and condition", func(*arguments, string) check { return present(asMarked) }},
		{"ready=STATUS[/REASON]", "the condition `" + nodeinfo.TopologyReady + "` has this status (`True`, `False` or `Unknown`) and reason; `none`: the condition does not exist", readyCheck},
		{"event REASON [count=N | says TEXT]", "the Node has Events with this reason: at least one, exactly N, or one whose message contains TEXT", eventCheck},
		{"no-warning", "the Node has no Event of type Warning", func(*arguments, string) check { return noWarning }},
	}
}

func (k *conditionKind) keyOf() string {
	word, _, _ := strings.Cut(k.usage, " ")
	if key, _, ok := strings.Cut(word, "="); ok {
		return key + "="
	}
	return word
}

func findCondition(word string) (kind conditionKind, value string, ok bool) {
	for _, k := range conditions() {
		key := k.keyOf()
		if word == key || strings.HasSuffix(key, "=") && strings.HasPrefix(word, key) {
			return k, word[len(key):], true
		}
	}
	return conditionKind{}, "", false
}

func isCondition(word string) bool {
	_, _, ok := findCondition(word)
	return ok
}

func present(f check) check {
	return func(s state) string {
		if s.node == nil {
			return "the Node does not exist"
		}
		return f(s)
	}
}

func unless(ok bool, actual string) string {
	if ok {
		return ""
	}
	return actual
}

func topologyCheck(keys ...string) func(*arguments, string) check {
	return func(a *arguments, value string) check {
		if value == "" {
			a.fail("a value is missing")
		}
		return present(func(s state) string {
			for _, key := range keys {
				if is := labelIs(s.node, key, value); is != "" {
					return is
				}
			}
			return ""
		})
	}
}

func labelIs(n *v1.Node, key, want string) string { return entryIs(n.Labels, "label", key, want) }

func entryIs(entries map[string]string, kind, key, want string) string {
	value, ok := entries[key]
	switch {
	case ok && want != none && value == want, !ok && want == none:
		return ""
	case !ok:
		return "no " + kind + " " + key
	}
	return fmt.Sprintf("%s=%s", key, value)
}

func (a *arguments) keyAndValue() (key, value string) {
	key, value, ok := strings.Cut(a.word("KEY=VALUE"), "=")
	if !ok {
		a.fail("KEY=VALUE is missing")
	}
	return key, value
}

func labelCheck(a *arguments, _ string) check {
	key, value := a.keyAndValue()
	return present(func(s state) string { return labelIs(s.node, key, value) })
}

func annotationCheck(a *arguments, _ string) check {
	key, value := a.keyAndValue()
	return present(func(s state) string { return entryIs(s.node.Annotations, "annotation", key, value) })
}

func providerCheck(a *arguments, want string) check {
	if want == "" {
		a.fail("a provider ID is missing")
	}
	return present(func(s state) string {
		actual := s.node.Spec.ProviderID
		id := want
		switch want {
		case "yes":
			id = s.providerID
			if id == "" {
				return "the Node was not created for a VM"
			}
		case none:
			id = ""
		}
		return unless(actual == id, fmt.Sprintf("provider ID %q, want %q", actual, id))
	})
}

func taintCheck(isWanted bool) func(*arguments, string) check {
	return func(a *arguments, _ string) check {
		key := a.word("TAINT")
		if !strings.Contains(key, "/") {
			key = "node.cloudprovider.kubernetes.io/" + key
		}
		return present(func(s state) string {
			var keys []string
			for _, t := range s.node.Spec.Taints {
				keys = append(keys, t.Key)
			}
			return unless(slices.Contains(keys, key) == isWanted, fmt.Sprintf("taints %q", keys))
		})
	}
}

func addressCheck(a *arguments, _ string) check {
	kind, want, ok := strings.Cut(a.word("TYPE=ADDRESS"), "=")
	if !ok {
		a.fail("TYPE=ADDRESS is missing")
	}
	return present(func(s state) string {
		actual := none
		for _, address := range s.node.Status.Addresses {
			if string(address.Type) == kind {
				actual = address.Address
				break
			}
		}
		return unless(actual == want, fmt.Sprintf("%s=%s, all addresses: %v", kind, actual, s.node.Status.Addresses))
	})
}

func readyCheck(a *arguments, value string) check {
	want, reason, hasReason := strings.Cut(value, "/")
	if !slices.Contains([]string{"True", "False", "Unknown", none}, want) {
		a.fail("ready= must be True, False, Unknown or none")
	}
	return present(func(s state) string {
		actual := v1.NodeCondition{Status: none}
		for _, c := range s.node.Status.Conditions {
			if c.Type == nodeinfo.TopologyReady {
				actual = c
			}
		}
		return unless(string(actual.Status) == want && (!hasReason || actual.Reason == reason), fmt.Sprintf("%s is %s %s: %s", nodeinfo.TopologyReady, actual.Status, actual.Reason, actual.Message))
	})
}

func eventCheck(a *arguments, _ string) check {
	events := a.events()
	return func(s state) string { return events(s.events) }
}

// events reads REASON [count=N | says TEXT] and returns a check of Events.
func (a *arguments) events() func([]*v1.Event) string {
	reason := a.word("REASON")
	count := -1
	text := ""
	if a.next("says") {
		text = a.word("TEXT")
	} else if len(a.words) > 0 && strings.HasPrefix(a.words[0], "count=") {
		n, err := strconv.Atoi(strings.TrimPrefix(a.word("count=N"), "count="))
		if err != nil || n < 0 {
			a.fail("count= must be a non-negative integer")
		}
		count = n
	}
	return func(events []*v1.Event) string {
		n := 0
		said := text == ""
		for _, e := range events {
			if e.Reason == reason {
				n += max(1, int(e.Count))
				said = said || strings.Contains(e.Message, text)
			}
		}
		ok := said && (count < 0 && n > 0 || n == count)
		return unless(ok, "Events: "+listEvents(events))
	}
}

func noWarning(s state) string {
	var bad []*v1.Event
	for _, e := range s.events {
		if e.Type == v1.EventTypeWarning {
			bad = append(bad, e)
		}
	}
	return unless(len(bad) == 0, "Events: "+listEvents(bad))
}

func listEvents(events []*v1.Event) string {
	if len(events) == 0 {
		return none
	}
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = fmt.Sprintf("%s (%d times): %s", e.Reason, max(1, e.Count), e.Message)
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}
