package rights

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"vzones/config"
)

// reviewing returns a client of an API server that answers each question about a right by allowed.
func reviewing(allowed func(*authorizationv1.ResourceAttributes) (bool, error)) *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		var err error
		review.Status.Allowed, err = allowed(review.Spec.ResourceAttributes)
		return true, review, err
	})
	return client
}

// oneClient is the client of every name.
type oneClient struct{ kubernetes.Interface }

func (c oneClient) Client(string) (kubernetes.Interface, error) { return c, nil }

// TestMissingRightsAreTold: each once, with what does not work without it. That the API
// server's answers are understood is shown in test/stack.
func TestMissingRightsAreTold(t *testing.T) {
	none := func(*authorizationv1.ResourceAttributes) (bool, error) { return false, nil }
	port := []string{
		`right="create tokenreviews.authentication.k8s.io" without="nobody gets /metrics with a token"`,
		`right="create subjectaccessreviews.authorization.k8s.io" without="nobody gets /metrics"`,
	}
	deletes := `right="delete nodes" without="Nodes whose machine is gone stay"`
	onPod := `right="create events in kube-system" without="no Event on the daemon's Pod says that a configuration is refused"`
	always := []string{
		`right="update nodes" without="no Node is initialized"`,
		`right="patch nodes" without="no Node is marked as shut down or loses that mark"`,
		`right="patch nodes/status" without="no Node gets addresses"`,
		`right="create events in default" without="Nodes get no Events of the framework"`,
		`right="patch nodes" without="the labels and annotations of running Nodes are not written"`,
		`right="patch nodes/status" without="no Node gets the condition vzones/TopologyReady"`,
		`right="create events in default" without="no Event says why a Node waits"`,
		`right="patch events in default" without="an Event of a Node that repeats is not counted"`,
	}
	for name, c := range map[string]struct {
		cfg     config.Config
		port    bool
		own     *v1.ObjectReference
		allowed func(*authorizationv1.ResourceAttributes) (bool, error)
		want    []string
	}{
		"all":           {port: true, own: &v1.ObjectReference{Namespace: "kube-system"}, allowed: none, want: slices.Concat(port, always, []string{deletes, onPod})},
		"skipDeletion":  {cfg: config.Config{SkipNodeDeletion: true}, allowed: none, want: always},
		"none":          {port: true, allowed: func(*authorizationv1.ResourceAttributes) (bool, error) { return true, nil }},
		"nobody knows":  {port: true, allowed: func(*authorizationv1.ResourceAttributes) (bool, error) { return false, errors.New("no answer") }},
		"delete denied": {allowed: func(a *authorizationv1.ResourceAttributes) (bool, error) { return a.Verb != "delete", nil }, want: []string{deletes}},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
			client := reviewing(c.allowed)
			LogMissing(ctx, oneClient{client}, client, Needed(&c.cfg, c.port, c.own))
			var got []string
			for line := range strings.Lines(log.String()) {
				_, message, _ := strings.Cut(strings.TrimSpace(line), "] ")
				got = append(got, message)
			}
			var want []string
			for _, w := range c.want {
				want = append(want, fmt.Sprintf("%q %s", "A right is missing: grant it, as the manifest's roles do", w))
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
