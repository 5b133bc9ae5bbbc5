//go:build linux

package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// pauseName is the image's name in containerd.toml.
const pauseName = "localhost/pause:1"

// writePauseImage writes an image with a static program as the archive of docker save, which needs no registry.
func writePauseImage(path, program string) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	layer, err := archive(file{"pause", binary, 0o755})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Entrypoint": []string{"/pause"}, "User": "65535:65535"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return err
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{pauseName}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	image, err := archive(file{"config.json", config, 0o644}, file{"layer.tar", layer, 0o644}, file{"manifest.json", manifest, 0o644})
	if err != nil {
		return err
	}
	return os.WriteFile(path, image, 0o600)
}

type file struct {
	name    string
	content []byte
	mode    int64
}

func archive(files ...file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content))})
		if err == nil {
			_, err = w.Write(f.content)
		}
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	return b.Bytes(), w.Close()
}
