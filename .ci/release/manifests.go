package main

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"vzones/ci/release/archive"
	"vzones/ci/release/image"
)

const (
	plain       = "manifests/vsphere-cloud-controller-manager.yaml"
	chartFolder = "manifests/chart"
)

// manifests returns what is applied to a cluster, with the release's image in it: the
// plain manifest and the chart.
func (o *options) manifests(ctx context.Context, name image.Name) ([]artifact, error) {
	text, err := o.read(plain)
	if err != nil {
		return nil, err
	}
	stamped, err := withImage(string(text), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plain, err)
	}
	chart, err := o.chart(ctx, name.Repository)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", chartFolder, err)
	}
	return []artifact{{image.Command + "_" + o.version + ".yaml", []byte(stamped)}, chart}, nil
}

var images = regexp.MustCompile(`(?m)^(\s*image: ).*$`)

// withImage sets the image of the one container that a manifest has.
func withImage(manifest string, name image.Name) (string, error) {
	if n := len(images.FindAllString(manifest, -1)); n != 1 {
		return "", fmt.Errorf("%d lines set an image, want one", n)
	}
	return images.ReplaceAllString(manifest, "${1}"+name.String()), nil
}

// chart packs the chart as helm package does, but for the times: it writes that of now.
// The files are those that git knows.
func (o *options) chart(ctx context.Context, repository string) (artifact, error) {
	listed, err := o.git(ctx, "ls-files", "-z", "--", chartFolder)
	if err != nil {
		return artifact{}, err
	}
	var entries []archive.Entry
	for file := range strings.SplitSeq(strings.Trim(listed, "\x00"), "\x00") {
		if file == "" {
			continue
		}
		content, err := o.read(file)
		if err != nil {
			return artifact{}, err
		}
		entries = append(entries, archive.Entry{Name: strings.TrimPrefix(file, chartFolder+"/"), Mode: 0o644, Content: content})
	}
	return packChart(entries, o, repository)
}

// packChart stamps a chart with the version and the image's repository, and packs it.
func packChart(entries []archive.Entry, o *options, repository string) (artifact, error) {
	name := ""
	for i, e := range entries {
		var err error
		text := string(e.Content)
		switch e.Name {
		case "Chart.yaml":
			if name, err = value(text, "name"); err != nil {
				break
			}
			if text, err = set(text, "version", o.version[1:]); err != nil {
				break
			}
			text, err = set(text, "appVersion", o.version)
		case "values.yaml":
			// The chart has the repository that the image is built for by default.
			text, err = set(text, "  repository", repository)
		}
		if err != nil {
			return artifact{}, fmt.Errorf("%s: %w", e.Name, err)
		}
		entries[i].Content = []byte(text)
	}
	if name == "" {
		return artifact{}, fmt.Errorf("there is no Chart.yaml among %d files that git knows", len(entries))
	}
	var b bytes.Buffer
	if err := archive.TarGz(&b, o.created, archive.Below(path.Base(name), entries...)...); err != nil {
		return artifact{}, err
	}
	return artifact{name + "-" + o.version[1:] + ".tgz", b.Bytes()}, nil
}

// line matches the one line of a YAML file that sets a key of this indentation.
func line(text, key string) (*regexp.Regexp, error) {
	r := regexp.MustCompile(`(?m)^(` + regexp.QuoteMeta(key) + `: ).*$`)
	if n := len(r.FindAllString(text, -1)); n != 1 {
		return nil, fmt.Errorf("%d lines set %q, want one", n, strings.TrimSpace(key))
	}
	return r, nil
}

// set sets a key, whose value is plain, and keeps all else.
func set(text, key, to string) (string, error) {
	r, err := line(text, key)
	if err != nil {
		return "", err
	}
	return r.ReplaceAllString(text, "${1}"+to), nil
}

// value returns the value of a key.
func value(text, key string) (string, error) {
	r, err := line(text, key)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(r.FindString(text), key+": "), nil
}
