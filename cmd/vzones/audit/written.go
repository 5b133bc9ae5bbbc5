package audit

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"vzones/topology/quote"
)

// noteWriter notes when a field of an object was last written and by whom, as the API server
// recorded it. The path is such as "metadata", "labels", and the label's key. Where nobody is recorded
// for the field, the object was made with it.
func (s *Stale) noteWriter(o metav1.Object, path ...string) {
	for _, entry := range o.GetManagedFields() {
		if entry.FieldsV1 == nil || entry.Time == nil || !s.Written.Before(entry.Time.Time) {
			continue
		}
		if hasField(entry.FieldsV1.GetRawBytes(), path) {
			s.Written, s.Writer = entry.Time.UTC(), quote.Plain(entry.Manager)
		}
	}
	if s.Written.IsZero() {
		s.Written = o.GetCreationTimestamp().UTC()
	}
}

func hasField(raw []byte, path []string) bool {
	for _, name := range path {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) != nil {
			return false
		}
		var there bool
		if raw, there = fields["f:"+name]; !there {
			return false
		}
	}
	return true
}

// at notes when a copy was made.
func (s *Stale) at(t time.Time) {
	if !t.IsZero() {
		s.Written = t.UTC()
	}
}
