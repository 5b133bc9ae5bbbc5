package topology

// InvalidLabelValue says what keeps s from being the value of a Kubernetes
// label, or nothing. Kubernetes allows 63 characters of [-A-Za-z0-9_.], the
// first and last of them a letter or digit.
func InvalidLabelValue(s string) string {
	if s == "" {
		return "it is empty"
	}
	if len(s) > 63 {
		return "it is longer than 63 characters"
	}
	for i := range len(s) {
		if alphanumeric(s[i]) {
			continue
		}
		if i == 0 || i == len(s)-1 {
			return "it has to begin and end with a letter or digit"
		}
		if s[i] != '-' && s[i] != '_' && s[i] != '.' {
			return "it may hold only letters, digits, '-', '_' and '.'"
		}
	}
	return ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
