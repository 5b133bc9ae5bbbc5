package docs_test

import (
	"strings"
	"testing"
)

// TestImageHasTheBinaryWhereManifestsNameIt: in /bin, by which Gardener's and OpenShift's manifests start the
// CPI, and in the root, by which ours did.
func TestImageHasTheBinaryWhereManifestsNameIt(t *testing.T) {
	_, last, _ := strings.Cut(read(t, "../Dockerfile"), " AS build\n")
	for _, line := range []string{
		"RUN mkdir links && ln -s bin/vsphere-cloud-controller-manager links/vsphere-cloud-controller-manager",
		"COPY --from=build /src/bin/vsphere-cloud-controller-manager /bin/",
		"COPY --from=build /src/links/ /",
		`ENTRYPOINT ["/bin/vsphere-cloud-controller-manager"]`,
	} {
		if !strings.Contains(last, "\n"+line+"\n") {
			t.Errorf("the Dockerfile has no line %q", line)
		}
	}
}
