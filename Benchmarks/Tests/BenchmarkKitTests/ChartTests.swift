import BenchmarkKit
import Foundation
import Testing

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite("Charts")
struct ChartTests {
    @Test(
        "a scale begins and ends with round numbers around its values",
        arguments: [
            ([0.3, 4], 0.2, 5), ([0.012, 70], 0.01, 100), ([1], 0.5, 2), ([], 0.5, 2),
            ([0.5, 2], 0.5, 2), ([3, 9], 0.5, 10), ([0, .infinity, 1], 0.5, 2),
        ] as [([Double], Double, Double)])
    func ends(values: [Double], low: Double, high: Double) {
        let scale = LogScale(covering: values, width: 100)
        #expect(abs(scale.low - low) < 1e-9)
        #expect(abs(scale.high - high) < 1e-9)
    }

    @Test("equal ratios are equal distances, and nothing stands outside")
    func positions() {
        let scale = LogScale(covering: [0.01, 100], width: 400)
        #expect(abs(scale.position(1) - 200) < 1e-9)
        #expect(abs(scale.position(10) - 300) < 1e-9)
        #expect(scale.position(1e9) == 400)
        #expect(scale.position(1e-9) == 0)
        #expect(scale.position(0) == 0)
        #expect(scale.ticks.map(LogScale.label).contains("0.05"))
        #expect(scale.ticks.count == 13)
    }

    @Test("a chart is well-formed XML with a bar for each ratio, whatever the names")
    func chart() throws {
        var results = Results(engines: ["ours", "a<b", "c&d"])
        for (index, engine) in results.engines.enumerated() {
            for workload in ["a", "d<e"] {
                results.add(Double(index + 1), unit: "ns", workload: workload, engine: engine)
            }
        }
        let svg = RatioChart(results, base: "ours", title: "T & <t>", note: "n").svg
        let counter = ElementCounter()
        let parser = XMLParser(data: Data(svg.utf8))
        parser.delegate = counter
        #expect(parser.parse())
        // The ground, two of the legend, and two engines in two workloads.
        #expect(counter.counts["rect"] == 1 + 2 + 4)
    }
}

private final class ElementCounter: NSObject, XMLParserDelegate {
    var counts: [String: Int] = [:]

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?,
        qualifiedName: String?, attributes: [String: String]
    ) {
        counts[name, default: 0] += 1
    }
}
