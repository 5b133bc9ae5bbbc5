package session

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vmware/govmomi/vim25"
)

// maxVersions limits the versions file in bytes.
const maxVersions = 1 << 20

func (s *Session) apiVersion(ctx context.Context) (version string, err error) {
	u := s.soap.URL()
	u.Path += "/vimServiceVersions.xml"
	err = s.endpoint.Do(ctx, "service versions", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return err
		}
		return s.soap.Do(ctx, req, func(res *http.Response) (err error) {
			version, err = APIVersion(res)
			return err
		})
	})
	return version, err
}

// APIVersion returns the version of the vSphere API in the answer to a request for /sdk/vimServiceVersions.xml.
func APIVersion(res *http.Response) (string, error) {
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers with HTTP status %d", res.StatusCode)
	}
	var versions struct {
		Namespaces []struct {
			Name    string `xml:"name"`
			Version string `xml:"version"`
		} `xml:"namespace"`
	}
	if err := xml.NewDecoder(io.LimitReader(res.Body, maxVersions)).Decode(&versions); err != nil {
		return "", errors.New("it does not answer like a vCenter")
	}
	for _, n := range versions.Namespaces {
		if n.Name == "urn:"+vim25.Namespace && n.Version != "" {
			return n.Version, nil
		}
	}
	return "", errors.New("it does not list the vSphere API")
}
