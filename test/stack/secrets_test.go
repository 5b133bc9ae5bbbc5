package stack

import "testing"

func TestLeaks(t *testing.T) {
	const password = "pw=/&east"
	for form, secret := range forms(password) {
		if leaks := Leaks("a line\nwith "+secret+" in it\n", password); len(leaks) == 0 {
			t.Errorf("%s: not found", form)
		}
	}
	if leaks := Leaks("a line without it: pw= /&east", password); len(leaks) > 0 {
		t.Errorf("found %v", leaks)
	}
}
