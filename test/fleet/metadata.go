package fleet

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
)

// Keys of the extra configuration that cloud-init's VMware data source reads.
const (
	metadataKey = "guestinfo.metadata"
	encodingKey = "guestinfo.metadata.encoding"
)

func metadata(text, encoding string) map[string]string {
	entries := map[string]string{}
	if text == "" {
		return entries
	}
	data := []byte(text)
	switch encoding {
	case "plain":
		entries[metadataKey] = text
		return entries
	case "gzip+base64":
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(data) // a bytes.Buffer never fails
		_ = w.Close()
		data = packed.Bytes()
	default:
		encoding = "base64"
	}
	entries[metadataKey] = base64.StdEncoding.EncodeToString(data)
	entries[encodingKey] = encoding
	return entries
}
