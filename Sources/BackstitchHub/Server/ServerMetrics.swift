import BackstitchHubCore
import Threading

/// Counts what a server does with requests: how long answers took, and how large they were.
final class ServerMetrics: Sendable {
    /// The upper ends of the buckets of a histogram, in nanoseconds, with their spelling in seconds.
    static let bounds: [(nanoseconds: Int, seconds: String)] = [
        (500_000, "0.0005"), (1_000_000, "0.001"), (2_500_000, "0.0025"), (5_000_000, "0.005"),
        (10_000_000, "0.01"), (25_000_000, "0.025"), (50_000_000, "0.05"), (100_000_000, "0.1"),
        (250_000_000, "0.25"), (500_000_000, "0.5"), (1_000_000_000, "1"),
        (2_500_000_000, "2.5"), (5_000_000_000, "5"), (10_000_000_000, "10"),
    ]

    private struct Histogram {
        /// How many fell into each bucket; the last one has no upper end.
        var counts = [Int](repeating: 0, count: bounds.count + 1)
        var nanoseconds = 0

        mutating func add(_ nanoseconds: Int, to bucket: Int) {
            counts[bucket] += 1
            self.nanoseconds += nanoseconds
        }
    }

    private struct State {
        var latencies: [String: Histogram] = [:]
        var requestBytes = 0
        var responseBytes = 0
    }

    private let state = Locked(State())

    /// Counts a request that was answered.
    ///
    /// - Parameter call: What it called, one of the hub's own words.
    func note(_ call: String, nanoseconds: Int, requestBytes: Int, responseBytes: Int) {
        let bucket =
            Self.bounds.firstIndex { nanoseconds <= $0.nanoseconds } ?? Self.bounds.count
        state.withLock { state in
            state.latencies[call, default: Histogram()].add(nanoseconds, to: bucket)
            state.requestBytes += requestBytes
            state.responseBytes += responseBytes
        }
    }

    /// What was counted.
    var families: [MetricFamily] {
        let state = state.withLock { $0 }
        var latency = MetricFamily(
            .histogram, "backstitch_hub_request_duration_seconds",
            "Time from the end of a request to its answer; long polls wait in it.")
        for (call, histogram) in state.latencies.sorted(by: { $0.key < $1.key }) {
            var count = 0
            for (bound, number) in zip(Self.bounds, histogram.counts) {
                count += number
                latency.add(count, suffix: "_bucket", ["call": call, "le": bound.seconds])
            }
            count += histogram.counts.last ?? 0
            latency.add(count, suffix: "_bucket", ["call": call, "le": "+Inf"])
            latency.add(
                "\(Double(histogram.nanoseconds) / 1e9)", suffix: "_sum", ["call": call])
            latency.add(count, suffix: "_count", ["call": call])
        }
        return [
            latency,
            MetricFamily(
                .counter, "backstitch_hub_request_body_bytes_total",
                "Bytes of the bodies of requests.", state.requestBytes),
            MetricFamily(
                .counter, "backstitch_hub_response_body_bytes_total",
                "Bytes of the bodies of answers, as they are sent.", state.responseBytes),
        ]
    }
}
