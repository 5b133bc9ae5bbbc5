package dockerfile

import (
	"os"
	"strings"
	"testing"
)

var arguments = map[string]string{"GO_IMAGE": "golang:1.26@sha256:" + strings.Repeat("0", 64)}

// TestDockerfile: the rules find nothing in ours. That the image of Go has no default is meant,
// and skipped in its first line: docs/how-to/build-an-image.md says why.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(t.Context(), text, arguments); err != nil {
		t.Error(err)
	}
}

// TestFindings: what the rules are for is found.
func TestFindings(t *testing.T) {
	for text, want := range map[string]string{
		"FROM scratch AS Build\n":                          "StageNameCasing",
		"from scratch\nCOPY a b\n":                         "ConsistentInstructionCasing",
		"FROM scratch\nENV a b\n":                          "LegacyKeyValueFormat",
		"FROM scratch\nENTRYPOINT /bin/x\n":                "JSONArgsRecommended",
		"FROM scratch\nARG PASSWORD=x\n":                   "SecretsUsedInArgOrEnv",
		"FROM scratch\nCOPY $NOWHERE /\n":                  "UndefinedVar",
		"FROM scratch\nWORKDIR x\n":                        "WorkdirRelativePath",
		"FROM scratch\nCMD [\"a\"]\nCMD [\"b\"]\n":         "MultipleInstructionsDisallowed",
		"FROM scratch AS a\nFROM scratch AS a\n":           "DuplicateStageName",
		"FROM scratch\nCOPPY a b\n":                        "unknown instruction",
		"FROM scratch\nCOPY --from=nowhere@sha256:x a b\n": "invalid",
	} {
		if err := Check(t.Context(), []byte(text), arguments); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
