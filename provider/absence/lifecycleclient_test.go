package absence

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestTheLatestAnswerCounts: a Node that was made again and is gone too.
func TestTheLatestAnswerCounts(t *testing.T) {
	var d deletions
	one, two := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "one"}}, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "two"}}
	d.approve(one)
	d.approve(two)
	if uid, ok := d.take("n"); !ok || uid != "two" {
		t.Error(uid, ok)
	}
	if _, ok := d.take("n"); ok {
		t.Error("taken twice")
	}
}
