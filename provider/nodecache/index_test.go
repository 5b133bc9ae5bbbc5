package nodecache

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"vzones/provider/addresses"
)

// BenchmarkClaims is what it costs to look for the claims of others to the address of
// one of 5,000 Nodes.
func BenchmarkClaims(b *testing.B) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{addressIndex: indexAddresses})
	var nodes []*v1.Node
	for i := range 5000 {
		n := aNode(fmt.Sprint("node-", i))
		n.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.0.%d.%d", i/250, i%250)}}
		nodes = append(nodes, n)
		if err := indexer.Add(n); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("lookup", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			for _, a := range addresses.ClaimedBy(nodes[i%5000]) {
				if found, err := indexer.ByIndex(addressIndex, a.String()); err != nil || len(found) != 1 {
					b.Fatal(found, err)
				}
			}
		}
	})
	b.Run("heartbeat", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if err := indexer.Update(nodes[i%5000]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
