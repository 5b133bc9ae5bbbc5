package words

func testTeller() {
	for _, verdict := range []int{} {
		_ = verdict
	}
}
