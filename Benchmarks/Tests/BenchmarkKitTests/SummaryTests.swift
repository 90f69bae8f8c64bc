import BenchmarkKit
import Testing

@Suite("Summaries")
struct SummaryTests {
    @Test(
        "the median is the middle, or the mean of the two in the middle",
        arguments: [
            ([3], 3), ([4, 1, 3], 3), ([8, 1, 3, 5], 4), ([7, 7], 7),
        ] as [([Double], Double)])
    func median(values: [Double], median: Double) throws {
        let summary = try #require(Summary(values))
        #expect(summary.median == median)
        #expect(summary.min == values.min())
        #expect(summary.max == values.max())
    }

    @Test("nothing has no summary")
    func nothing() {
        #expect(Summary([]) == nil)
    }

    @Test(
        "a percentile is a value that so many are not above",
        arguments: [(0.5, 50), (0.99, 99), (1, 100), (0, 1)] as [(Double, Double)])
    func percentile(share: Double, value: Double) {
        #expect((1...100).map(Double.init).shuffled().percentile(share) == value)
        #expect([Double]().percentile(share) == 0)
    }
}
