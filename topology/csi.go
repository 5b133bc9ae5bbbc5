package topology

// CSIPolicy returns the policy by which the CSI driver places a machine: its walk over these tag
// categories on the compute path. Each label is the one that kubelet sets for the driver. All
// categories are required, since without one of them the driver has no answer.
func CSIPolicy(categories []string) Policy {
	p := Policy{Precedence: PrecedenceCSI, Paths: []PathKind{ComputePath}}
	for _, c := range categories {
		p.Rules = append(p.Rules, Rule{Label: CSIDomain + "/" + c, Category: c, Required: true})
	}
	return p
}
