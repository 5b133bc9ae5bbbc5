package topology

import (
	"errors"
	"fmt"
	"strings"

	"vzones/internal/quote"
)

func (r *resolution) decideByMembership(rule *Rule) {
	host, cluster, absent, unknown := r.hostAndCluster()
	var names []string
	var err error
	if host != nil {
		names, err = memberships(rule, host, cluster)
	}
	switch {
	case unknown != "":
		r.fail(rule, Errorf(ErrUnknown, "label %s: %s", rule.Label, unknown))
	case err != nil:
		r.fail(rule, fmt.Errorf("label %s: %w", rule.Label, err))
	case len(names) == 0 && rule.Required:
		if host != nil {
			absent = notInGroup(rule, host)
		}
		r.fail(rule, Errorf(ErrMissing, "label %s: %s", rule.Label, absent))
	case len(names) == 0:
	case len(names) > 1:
		r.conflict(ConflictTwoGroups, rule.Label, func() string {
			return fmt.Sprintf("Of the DRS host groups that match %q, %s is in %d: %s. Label %s takes one: remove the host from the others, or narrow the pattern.",
				rule.HostGroup, host, len(names), quoted(names), rule.Label)
		}, host)
		r.fail(rule, Errorf(ErrAmbiguous, "%s is in %d DRS host groups that match %q (%s), and label %s takes one: remove the host from the others",
			host, len(names), rule.HostGroup, quoted(names), rule.Label))
	default:
		r.decideByGroup(rule, names[0], cluster)
	}
}

func (r *resolution) decideByGroup(rule *Rule, name string, cluster *Object) {
	if reason := rule.whyInvalid(name); reason != "" {
		r.conflict(ConflictInvalidValue, rule.Label, func() string {
			return fmt.Sprintf("The name %s of a %s of %s cannot be the value of label %s: %s. Rename it, or take the label from a tag.",
				quote.Value(name), rule.groupKind(), cluster, rule.Label, reason)
		}, cluster)
		r.fail(rule, Errorf(ErrInvalid, "the name %s of a %s of %s cannot be the value of label %s: %s: rename it",
			quote.Value(name), rule.groupKind(), cluster, rule.Label, reason))
		return
	}
	r.placement.Decisions = append(r.placement.Decisions, Decision{
		Label: rule.Label, Value: name, Inventory: rule.Inventory, HostGroup: rule.HostGroup, By: cluster,
	})
}

func (r *Rule) groupKind() string {
	if r.HostGroup != "" {
		return "DRS host group"
	}
	return "vSAN fault domain"
}

func (a ancestors) hostAndCluster() (host, cluster *Object, absent, unknown string) {
	p := a.path(ComputePath)
	if len(p.Objects) == 0 || p.Objects[0].Ref.Type != typeHost {
		return nil, nil, "", "the VM's host cannot be read"
	}
	host = p.Objects[0]
	switch {
	case len(p.Objects) == 1:
		return nil, nil, "", fmt.Sprintf("the cluster of %s cannot be read, retrying: %v", host, p.Broken)
	case p.Objects[1].Ref.Type == typeStandalone:
		return nil, nil, fmt.Sprintf("the VM is not in a cluster but on the standalone %s: take the label from a tag", host), ""
	case p.Objects[1].Ref.Type != typeCluster:
		return nil, nil, "", fmt.Sprintf("the parent of %s is not a cluster: %s", host, p.Objects[1])
	}
	return host, p.Objects[1], "", ""
}

// memberships returns ErrUnknown, and also ErrNotRead before the first read.
func memberships(rule *Rule, host, cluster *Object) ([]string, error) {
	membership := host.FaultDomain
	subject := "the vSAN fault domain of " + host.String()
	holder := "the host"
	if rule.HostGroup != "" {
		membership = host.HostGroups
		subject = "the DRS host groups of " + cluster.String()
		holder = "the cluster"
	}
	switch {
	case membership == nil:
		return nil, Errorf(Kinds{ErrUnknown, ErrNotRead}, "not yet read, will be read next: %s", subject)
	case errors.Is(membership.Err, ErrNotPermitted):
		return nil, Errorf(ErrUnknown, "%s cannot be read: the account lacks the privilege System.Read on %s: give it the role Read-only there", subject, holder)
	case membership.Err != nil:
		return nil, Errorf(ErrUnknown, "%s cannot be read, retrying: %v", subject, membership.Err)
	}
	var names []string
	for _, name := range membership.Names {
		if rule.HostGroup == "" || fits(rule.HostGroup, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

func notInGroup(rule *Rule, host *Object) string {
	if rule.HostGroup == "" {
		return fmt.Sprintf("%s is in no vSAN fault domain: add it to one", host)
	}
	groups := "it is in none"
	if len(host.HostGroups.Names) > 0 {
		groups = "it is in " + quoted(host.HostGroups.Names)
	}
	return fmt.Sprintf("%s is in no DRS host group that matches %q (%s): add it to one", host, rule.HostGroup, groups)
}

func fits(pattern, name string) bool {
	first, rest, several := strings.Cut(pattern, "*")
	if !several {
		return name == pattern
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, last)
}
