package words

func testTeller() {}
