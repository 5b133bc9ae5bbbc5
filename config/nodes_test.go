package config

import "testing"

func TestConsiders(t *testing.T) {
	for _, c := range []struct {
		networks, exclude []string
		network           string
		want              bool
	}{
		{nil, nil, "VM Network", true},
		{nil, nil, "", true},
		{[]string{"VM Network"}, nil, "vm network", true},
		{[]string{"VM Network"}, nil, "VM Network 2", false},
		{[]string{"VM Network"}, nil, "", false},
		{[]string{"a", "b"}, nil, "b", true},
		{[]string{"*"}, nil, "", true},
		{[]string{"prod-*"}, nil, "PROD-1", true},
		{[]string{"prod-*"}, nil, "prod-", true},
		{[]string{"prod-*"}, nil, "a-prod-1", false},
		{[]string{"*-prod"}, nil, "a-prod", true},
		{[]string{"*-prod"}, nil, "a-prod-prod", true},
		{[]string{"*-prod"}, nil, "a-prod-1", false},
		{[]string{"a*a"}, nil, "a", false},
		{[]string{"a*a"}, nil, "aa", true},
		{[]string{"a*b*c"}, nil, "abxbc", true},
		{[]string{"a*b*c"}, nil, "acb", false},
		{[]string{"a**c"}, nil, "abc", true},
		{[]string{"*b*"}, nil, "abc", true},
		{[]string{"*b*"}, nil, "ac", false},
		{nil, []string{"backup"}, "Backup", false},
		{nil, []string{"backup"}, "prod", true},
		{[]string{"prod-*"}, []string{"*-backup"}, "prod-backup", false},
		{[]string{"prod-*"}, []string{"*-backup"}, "prod-1", true},
		{[]string{"a/b"}, nil, "a%2fb", true},
		{[]string{`*\B`}, nil, "a%5Cb", true},
		{[]string{"a%2fb"}, nil, "a%2fb", true},
		{[]string{"a%2fb"}, nil, "a%252fb", true},
		{[]string{"a/b"}, nil, "a%252fb", false},
		{nil, []string{"100%"}, "100%25", false},
	} {
		rules := AddressRules{Networks: c.networks, ExcludeNetworks: c.exclude}
		if got := rules.Considers(c.network); got != c.want {
			t.Errorf("networks %q, excludeNetworks %q: %q counts: %v, want %v", c.networks, c.exclude, c.network, got, c.want)
		}
	}
}
