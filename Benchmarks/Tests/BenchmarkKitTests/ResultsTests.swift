import BenchmarkKit
import Foundation
import Testing

@Suite("Results")
struct ResultsTests {
    private var results: Results {
        var results = Results(engines: ["ours", "theirs"])
        for value in [10.0, 30, 20] {
            results.add(value, unit: "ns", workload: "a", engine: "ours")
        }
        results.add(40, unit: "ns", workload: "a", engine: "theirs")
        results.add(0, unit: "bytes", workload: "g", engine: "ours")
        results.add(8, unit: "bytes", workload: "g", engine: "theirs")
        return results
    }

    @Test("a ratio is that of the medians, and there is none to nothing")
    func ratios() {
        #expect(results.ratio("a", "theirs", to: "ours") == 2)
        #expect(results.ratio("a", "ours", to: "theirs") == 0.5)
        #expect(results.ratio("g", "theirs", to: "ours") == nil)
        #expect(results.ratio("b", "theirs", to: "ours") == nil)
    }

    @Test("the JSON has a flat object for each figure, workload by workload")
    func json() throws {
        let data = try JSONEncoder().encode(results.measurements)
        let list = try #require(
            try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
        #expect(list.map { $0["workload"] as? String } == ["a", "a", "g", "g"])
        #expect(list.map { $0["engine"] as? String } == ["ours", "theirs", "ours", "theirs"])
        let first = try #require(list.first)
        #expect(first["durability"] as? String == "full")
        #expect(first["median"] as? Double == 20)
        #expect(first["min"] as? Double == 10)
        #expect(first["max"] as? Double == 30)
        #expect(first["unit"] as? String == "ns")
        #expect(first.count == 7)
        let read = try JSONDecoder().decode([BenchmarkKit.Measurement].self, from: data)
        #expect(read == results.measurements)
    }

    @Test(
        "figures have three digits and a unit that suits them",
        arguments: [
            (0.5, "ns", "0.50 ns"), (12.34, "ns", "12.3 ns"), (999.4, "ns", "999 ns"),
            (999.6, "ns", "1.00 µs"), (1_234_567, "ns", "1.23 ms"), (5e12, "ns", "5000 s"),
            (85_000_000, "bytes", "85.0 MB"), (500_000, "operations/s", "500000 operations/s"),
        ] as [(Double, String, String)])
    func figures(value: Double, unit: String, text: String) {
        #expect(Figures.text(value, unit: unit) == text)
    }

    @Test("columns of a table line up")
    func table() {
        var table = TextTable(["", "b"])
        table.add(["long", "1.25 µs"])
        #expect(table.lines == ["            b", "long  1.25 µs"])
        #expect(table.markdown == ["|  | b |", "| --- | ---: |", "| long | 1.25 µs |"])
    }
}
