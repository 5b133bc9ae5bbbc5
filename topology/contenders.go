package topology

import "slices"

// A Fate is the role of a tag in the decision of a label. Programs may rely on its values.
type Fate string

// The fates, which Text describes.
const (
	FateDecides     Fate = "decides"
	FateTwoTags     Fate = "two_tags"
	FateInvalid     Fate = "invalid_value"
	FateOverwritten Fate = "overwritten"
	FateFarther     Fate = "farther"
	FateBeyond      Fate = "beyond_walk"
	FateOtherPath   Fate = "other_path"
	FateIncomplete  Fate = "incomplete_path"
	FateNoDecision  Fate = "no_decision"
)

// Text describes the fate in a sentence.
func (f Fate) Text() string {
	switch f {
	case FateDecides:
		return "decides"
	case FateTwoTags:
		return "decides nothing: its object has two tags of the category"
	case FateInvalid:
		return "decides nothing: it is not a valid label value"
	case FateOverwritten:
		return "lost to a tag farther up (precedence csi)"
	case FateFarther:
		return "lost to a tag nearer to the VM"
	case FateBeyond:
		return "not reached: the walk ended farther down, where every category had a value"
	case FateOtherPath:
		return "lost to an earlier path"
	case FateIncomplete:
		return "lost to a later path: its own path lacks a required category"
	}
	return "nothing decides the label"
}

// A Contender is a tag that could decide a label.
type Contender struct {
	Label string
	Tag   Tag
	By    *Object
	// Path is the deciding path if it contains By, or else the first path that does.
	Path PathKind
	Fate Fate
}

// Contenders returns, for each label that uses tags, all readable tags of its categories above a VM.
// An object on several paths occurs once for a label.
func Contenders(policy Policy, paths []Path) []Contender {
	s := search{ancestors: paths, policy: &policy}
	var found []Contender
	traces := make([]trace, len(policy.Rules))
	if s.hasCategories() {
		v := s.choose(traces)
		for i := range policy.Rules {
			if policy.Rules[i].Category != "" {
				found = append(found, s.ruleContenders(&policy.Rules[i], v, &traces[i])...)
			}
		}
	}
	for i := range policy.Levels {
		if policy.Levels[i].Category != "" {
			found = append(found, s.levelContenders(&policy.Levels[i])...)
		}
	}
	for _, rules := range []Rules{policy.Rules, policy.Levels} {
		for i := range rules {
			for _, part := range rules[i].Value {
				isRule := slices.ContainsFunc(policy.Rules, func(rule Rule) bool { return rule.Category == part.Category })
				if part.Category != "" && !isRule {
					found = append(found, s.levelContenders(&Rule{Label: rules[i].Label, Category: part.Category, Value: rules[i].Value})...)
				}
			}
		}
	}
	return found
}

func (s *search) ruleContenders(rule *Rule, v choice, t *trace) []Contender {
	order := s.policy.paths()
	decider := t.chosen(s.policy.Precedence)
	decides := -1
	if v.path != nil && !s.isInvisible(rule.Category) && (v.invisible == "" || !t.varied) {
		decides = slices.Index(order, v.path.Kind)
	}
	return s.contenders(rule, decides, func(pathIndex, i int, o *Object) Fate {
		switch {
		case decides < 0:
			return FateNoDecision
		case pathIndex < decides:
			return FateIncomplete
		case pathIndex > decides:
			return FateOtherPath
		case o == decider.object:
			return rule.fate(decider)
		case i >= v.walked:
			return FateBeyond
		case s.policy.Precedence == PrecedenceNearest:
			return FateFarther
		}
		return FateOverwritten
	})
}

func (s *search) levelContenders(rule *Rule) []Contender {
	var decider hit
	decides := -1
	for pathIndex, kind := range s.policy.paths() {
		if s.isInvisible(rule.Category) {
			break
		}
		h, got := nearest(rule.Category, s.path(kind))
		if decider = h; h.object != nil {
			decides = pathIndex
			break
		}
		if got.truncated() {
			break
		}
	}
	return s.contenders(rule, decides, func(pathIndex, _ int, o *Object) Fate {
		switch {
		case decides < 0:
			return FateNoDecision
		case o == decider.object:
			return rule.fate(decider)
		case pathIndex > decides:
			return FateOtherPath
		}
		return FateFarther
	})
}

func (r *Rule) fate(decider hit) Fate {
	switch {
	case decider.isAmbiguous:
		return FateTwoTags
	case r.whyInvalid(decider.name) != "":
		return FateInvalid
	}
	return FateDecides
}

// contenders puts the path with index decides (-1 for none) first, so that an object on several paths
// belongs to it.
func (s *search) contenders(rule *Rule, decides int, fate func(pathIndex, i int, o *Object) Fate) []Contender {
	var found []Contender
	seen := map[Ref]bool{}
	order := s.policy.paths()
	add := func(pathIndex int) {
		for i, o := range s.path(order[pathIndex]).Objects {
			if o.TagsErr != nil || seen[o.Ref] {
				continue
			}
			seen[o.Ref] = true
			for _, name := range o.tagNames(rule.Category) {
				found = append(found, Contender{rule.Label, Tag{rule.Category, name}, o, order[pathIndex], fate(pathIndex, i, o)})
			}
		}
	}
	if decides >= 0 {
		add(decides)
	}
	for pathIndex := range order {
		if pathIndex != decides {
			add(pathIndex)
		}
	}
	return found
}
