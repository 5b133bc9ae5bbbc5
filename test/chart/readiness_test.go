package chart

import (
	"strings"
	"testing"

	"vzones/provider/nodeinfo"
	"vzones/test/fixture"
)

// readinessRules defines the fields of a NodeReadinessRule that the how-to uses, with the types, required fields and
// rules of the node readiness controller v0.5.0. Its module cannot be pinned in .ci/crds like those of definitions.
const readinessRules = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: nodereadinessrules.readiness.node.x-k8s.io
spec:
  group: readiness.node.x-k8s.io
  scope: Cluster
  names: {kind: NodeReadinessRule, listKind: NodeReadinessRuleList, plural: nodereadinessrules, singular: nodereadinessrule}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [conditions, enforcementMode, nodeSelector, taint]
            properties:
              enforcementMode: {type: string, enum: [bootstrap-only, continuous]}
              conditions:
                type: array
                minItems: 1
                maxItems: 32
                items:
                  type: object
                  required: [requiredStatus, type]
                  properties:
                    type: {type: string, minLength: 1, maxLength: 316}
                    requiredStatus: {type: string, enum: ["True", "False", Unknown]}
              taint:
                type: object
                required: [effect, key]
                properties:
                  key: {type: string, maxLength: 253, pattern: '^readiness\.k8s\.io/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'}
                  effect: {type: string, enum: [NoSchedule, PreferNoSchedule, NoExecute]}
              nodeSelector:
                type: object
                properties:
                  matchExpressions:
                    type: array
                    items:
                      type: object
                      required: [key, operator]
                      properties:
                        key: {type: string}
                        operator: {type: string}
                        values: {type: array, items: {type: string}}
`

// TestReadinessRule: the API server accepts the NodeReadinessRule of the how-to, which is about the condition of vzones.
func TestReadinessRule(t *testing.T) {
	var rule string
	for _, b := range fixture.Blocks(fixture.Page(t, "docs/how-to/keep-zones-true.md")) {
		if strings.Contains(b.Text, "kind: NodeReadinessRule") {
			rule = b.Text
		}
	}
	if !strings.Contains(rule, "{type: "+nodeinfo.TopologyReady+", ") {
		t.Fatalf("got the rule %q, want one about the condition %s", rule, nodeinfo.TopologyReady)
	}
	c := start(t)
	if err := c.Apply(t.Context(), []byte(readinessRules), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), []byte(rule), nil); err != nil {
		t.Errorf("applying the rule: %v\n%s", err, rule)
	}
	for right, wrong := range map[string]string{
		"requiredStatus: ": "requiredState: ", `"True"`: "true", "bootstrap-only": "once", "readiness.k8s.io/vzones": "vzones/vzones", "NoSchedule}": "Never}", "matchExpressions": "matchExpression",
	} {
		changed := strings.Replace(rule, right, wrong, 1)
		if changed == rule {
			t.Fatalf("the rule has no %s:\n%s", right, rule)
		}
		if err := c.Apply(t.Context(), []byte(changed), nil); err == nil {
			t.Errorf("the API server accepts %s in the rule, want an error", wrong)
		}
	}
}
