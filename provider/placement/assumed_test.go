package placement

import (
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"vzones/topology"
)

// TestWhoHasInitializedANode: nobody, if it has lost no taint while this process leads.
func TestWhoHasInitializedANode(t *testing.T) {
	another := func(n *v1.Node) { n.UID = "another" }
	for name, c := range map[string]struct {
		before, now *v1.Node
		leads       bool
		came        bool
	}{
		"the framework":                  {aNode("n", withSystemUUID(uuidA)), aNode("n", runs), true, false},
		"its kubelet":                    {aNode("n", untainted), aNode("n", runs), true, true},
		"before this process led":        {aNode("n", untainted), aNode("n", runs), false, false},
		"long ago":                       {aNode("n", runs), aNode("n", runs, silent), true, false},
		"registered again, untainted":    {aNode("n"), aNode("n", runs, another), true, true},
		"registered again, with a taint": {aNode("n", runs), aNode("n", another), true, false},
	} {
		var known assumed
		known.update(c.before, c.now, c.leads)
		if known.cameInitialized(c.now.UID) != c.came {
			t.Errorf("%s: it came initialized: %t", name, !c.came)
		}
	}
}

// TestTwoThatAskAtOnce: a machine that was given a moment ago is given to no other Node,
// even one that was made before, unless the first got nothing of it.
func TestTwoThatAskAtOnce(t *testing.T) {
	var given assumed
	u := mustUUID(uuidA)
	waits := true
	give := func(name string) error {
		return given.give(u, aNode(name), given.now(), func(uid types.UID, name string) bool { return waits && uid == types.UID("uid-"+name) })
	}
	if err := give("a"); err != nil {
		t.Error(err)
	}
	if err := give("a"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := give("b"); !errors.Is(err, ErrShared) || !errors.Is(err, topology.ErrUnknown) || !strings.Contains(err.Error(), "Node a") {
		t.Errorf("the other one: %v", err)
	}
	given.shown(aNode("a", withProviderID("vsphere://"+uuidA))) // it still waits
	if err := give("b"); err == nil {
		t.Error("before the first one shows it")
	}
	given.forget("uid-a")
	if err := give("b"); err != nil {
		t.Errorf("when the first one is gone: %v", err)
	}
	waits = false
	if err := give("a"); err != nil {
		t.Errorf("when the other one does not wait any more: %v", err)
	}
	given.shown(aNode("a", runs))
	if len(given.uuids) != 0 {
		t.Errorf("kept: %v", given.uuids)
	}
}
