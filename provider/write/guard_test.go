package write

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
)

func aNode(uid types.UID) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: uid}}
}

// TestTheLatestAnswerCounts: a Node that was made again and is gone too.
func TestTheLatestAnswerCounts(t *testing.T) {
	var g Guard
	take := func() (uid types.UID) {
		g.note("n", func(a *answers) { uid, a.absent = a.absent, "" })
		return uid
	}
	g.Exists(aNode("one"), false)
	g.Exists(aNode("two"), false)
	if uid := take(); uid != "two" {
		t.Error(uid)
	}
	if uid := take(); uid != "" {
		t.Error("taken twice")
	}
	g.Exists(aNode("two"), false)
	g.Exists(aNode("two"), true)
	if uid := take(); uid != "" {
		t.Error("the machine is there again")
	}
}

// TestWhoseAddresses: the framework's worker and its loop may ask about two Nodes of one name, and
// write in either order.
func TestWhoseAddresses(t *testing.T) {
	joining := func(uid types.UID) *v1.Node {
		n := aNode(uid)
		n.Spec.Taints = []v1.Taint{{Key: api.TaintExternalCloudProvider}}
		return n
	}
	with := func(address string) *cloudprovider.InstanceMetadata {
		return &cloudprovider.InstanceMetadata{NodeAddresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}
	}
	patch := func(address string) string {
		return `{"status":{"addresses":[{"address":"n","type":"Hostname"},{"address":"` + address + `","type":"InternalIP"},{"$patch":"replace"}]}}`
	}
	for name, c := range map[string]struct {
		ask   func(*Guard)
		patch string
		want  string // the UID, empty if the write is refused
	}{
		"nobody was asked about": {func(*Guard) {}, patch("10.0.0.1"), ""},
		"of a Node that waits":   {func(g *Guard) { g.Metadata(joining("one"), nil, Additions{}) }, patch("10.0.0.1"), ""},
		"of one that joins":      {func(g *Guard) { g.Metadata(joining("one"), with("10.0.0.1"), Additions{}) }, patch("10.0.0.1"), "one"},
		"of one that was replaced": {func(g *Guard) {
			g.Metadata(joining("one"), with("10.0.0.1"), Additions{})
			g.Metadata(joining("two"), with("10.0.0.2"), Additions{})
		}, patch("10.0.0.1"), ""},
		"of the old one, by the loop": {func(g *Guard) {
			g.Metadata(aNode("one"), with("10.0.0.1"), Additions{})
			g.Metadata(joining("two"), with("10.0.0.2"), Additions{})
		},
			patch("10.0.0.1"), "one"},
		"of the new one, by the worker": {func(g *Guard) {
			g.Metadata(aNode("one"), with("10.0.0.1"), Additions{})
			g.Metadata(joining("two"), with("10.0.0.2"), Additions{})
		},
			patch("10.0.0.2"), "two"},
		"the same for both": {func(g *Guard) {
			g.Metadata(aNode("one"), with("10.0.0.1"), Additions{})
			g.Metadata(joining("two"), with("10.0.0.1"), Additions{})
		},
			patch("10.0.0.1"), "two"},
		"of one that the loop has asked about since": {func(g *Guard) {
			g.Metadata(joining("one"), with("10.0.0.1"), Additions{})
			g.Metadata(aNode("one"), &cloudprovider.InstanceMetadata{}, Additions{})
		},
			patch("10.0.0.1"), "one"},
	} {
		t.Run(name, func(t *testing.T) {
			var g Guard
			c.ask(&g)
			got, err := g.complete("n", []byte(c.patch), []string{"status"})
			want := c.patch
			if c.want != "" {
				want = `{"metadata":{"uid":"` + c.want + `"},` + c.patch[1:]
			}
			if (err != nil) != (c.want == "") || err == nil && string(got) != want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
}

// TestOtherPatches: what follows from no answer has to follow from the Node in the cache. What is in a patch beside
// the UID stays.
func TestOtherPatches(t *testing.T) {
	ready := []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	labeled, is, silent := aNode("labeled"), aNode("ready"), aNode("silent")
	labeled.Labels = map[string]string{v1.LabelFailureDomainBetaZone: "a", v1.LabelFailureDomainBetaRegion: "r", "other": "b"}
	is.Status.Conditions = ready
	const (
		zone    = `"topology.kubernetes.io/zone":"a"`
		region  = `"topology.kubernetes.io/region":"r"`
		taint   = `"spec":{"taints":[{"effect":"NoSchedule","key":"` + api.TaintNodeShutdown + `"}]}`
		noTaint = `"spec":{"taints":null}`
		version = `"resourceVersion":"7"`
	)
	for name, c := range map[string]struct {
		current     *v1.Node
		patch, want string // empty for an error
	}{
		"labels of the Node":                  {labeled, `{"metadata":{"labels":{` + region + `,` + zone + `}}}`, `{"metadata":{"labels":{` + region + `,` + zone + `},"uid":"labeled"}}`},
		"another value":                       {labeled, `{"metadata":{"labels":{"topology.kubernetes.io/zone":"b"}}}`, ""},
		"labels of another Node":              {is, `{"metadata":{"labels":{` + zone + `}}}`, ""},
		"a label that the framework does not": {labeled, `{"metadata":{"labels":{"other":"b"}}}`, ""},
		"of a Node that is gone":              {nil, `{"metadata":{"labels":{` + zone + `}}}`, ""},
		"the taint goes":                      {is, `{"metadata":{` + version + `},` + noTaint + `}`, `{"metadata":{` + version + `,"uid":"ready"},` + noTaint + `}`},
		"the taint of a Node that is silent":  {silent, `{"metadata":{` + version + `},` + noTaint + `}`, ""},
		"the taint comes":                     {silent, `{"metadata":{` + version + `},` + taint + `}`, `{"metadata":{` + version + `,"uid":"off"},` + taint + `}`},
		"no patch":                            {is, `{`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := Guard{Current: func(string) (*v1.Node, error) {
				if c.current == nil {
					return nil, errors.New("not found")
				}
				return c.current, nil
			}}
			g.Shutdown(aNode("off"), true)
			got, err := g.complete("n", []byte(c.patch), nil)
			if (err != nil) != (c.want == "") || string(got) != c.want {
				t.Errorf("the patch becomes %s, error %v; want %s", got, err, c.want)
			}
		})
	}
}

// TestAnswersAreForgotten: of Nodes that nobody asks about any more, and no others.
func TestAnswersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Guard
		g.Shutdown(aNode("one"), true)
		other := aNode("other")
		other.Name = "other"
		for range 4 {
			time.Sleep(answersKept - time.Minute)
			g.Exists(aNode("one"), true)
			g.Shutdown(other, false)
		}
		if g.last("n").off != "one" {
			t.Error("forgotten, although it is asked about")
		}
		for range 4 {
			time.Sleep(answersKept - time.Minute)
			g.Shutdown(other, false)
		}
		if len(g.answers) > 1 || g.last("n").off != "" {
			t.Errorf("%v", g.answers)
		}
	})
}
