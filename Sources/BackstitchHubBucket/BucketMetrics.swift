import BackstitchHubCore
import Threading

/// Counts what a hub asked a bucket for.
final class BucketMetrics: Sendable {
    private struct Key: Hashable {
        let operation: String
        let result: String
    }

    private let counts = Locked<[Key: Int]>([:])

    /// Counts an attempt.
    ///
    /// - Parameters:
    ///   - operation: The hub's word for it.
    ///   - result: `ok`, or the kind of the failure.
    func count(_ operation: String, _ result: String) {
        counts.withLock { $0[Key(operation: operation, result: result), default: 0] += 1 }
    }

    /// How often something was tried.
    func attempts(_ operation: String) -> Int {
        counts.withLock { counts in
            counts.reduce(0) { $0 + ($1.key.operation == operation ? $1.value : 0) }
        }
    }

    var families: [MetricFamily] {
        var family = MetricFamily(
            .counter, "backstitch_hub_bucket_requests_total",
            "Requests to the bucket, those that were tried again included.")
        for (key, count) in counts.withLock({ $0 }).sorted(by: {
            ($0.key.operation, $0.key.result) < ($1.key.operation, $1.key.result)
        }) {
            family.add(count, ["operation": key.operation, "result": key.result])
        }
        return [family]
    }
}
