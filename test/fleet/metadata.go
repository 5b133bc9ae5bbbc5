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
	all := map[string]string{}
	if text == "" {
		return all
	}
	data := []byte(text)
	switch encoding {
	case "plain":
		all[metadataKey] = text
		return all
	case "gzip+base64":
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(data) // a bytes.Buffer never fails
		_ = w.Close()
		data = packed.Bytes()
	default:
		encoding = "base64"
	}
	all[metadataKey] = base64.StdEncoding.EncodeToString(data)
	all[encodingKey] = encoding
	return all
}
