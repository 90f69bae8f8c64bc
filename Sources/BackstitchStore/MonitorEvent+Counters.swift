public import BackstitchCore
import Threading

extension MonitorEvent {
    /// Counts events, and gives the counts in the text format of Prometheus.
    ///
    /// ```swift
    /// let counters = MonitorEvent.Counters()
    /// configuration.monitor = { counters.add($0) }
    /// ```
    ///
    /// The number of lines is bounded: labels are names and codes of Backstitch.
    public final class Counters: Sendable {
        private struct Sums {
            var events: [String: Int] = [:]
            var seconds: [String: Double] = [:]
            var failures: [[String]: Int] = [:]
            var counts: [[String]: Int] = [:]
        }

        private let sums = Locked(Sums())

        /// Counters that stand at zero.
        public init() {}

        /// Counts an event.
        public func add(_ event: MonitorEvent) {
            sums.withLock { sums in
                sums.events[event.name, default: 0] += 1
                if let duration = event.duration {
                    sums.seconds[event.name, default: 0] +=
                        Double(duration.wholeMilliseconds) / 1_000
                }
                if let error = event.error { sums.failures[[event.name, error], default: 0] += 1 }
                for (name, count) in event.counts {
                    sums.counts[[event.name, name], default: 0] += count
                }
            }
        }

        /// The counters, in the order of their labels.
        public var text: String {
            let sums = sums.withLock { $0 }
            var lines = ["# TYPE backstitch_events_total counter"]
            for (name, count) in sums.events.sorted(by: { $0.key < $1.key }) {
                lines.append("backstitch_events_total{event=\"\(name)\"} \(count)")
            }
            lines.append("# TYPE backstitch_event_seconds_total counter")
            for (name, seconds) in sums.seconds.sorted(by: { $0.key < $1.key }) {
                lines.append("backstitch_event_seconds_total{event=\"\(name)\"} \(seconds)")
            }
            lines.append("# TYPE backstitch_event_failures_total counter")
            lines += Self.lines("backstitch_event_failures_total", "code", sums.failures)
            lines.append("# TYPE backstitch_event_counts_total counter")
            lines += Self.lines("backstitch_event_counts_total", "of", sums.counts)
            return lines.joined(separator: "\n") + "\n"
        }

        private static func lines(
            _ metric: String, _ label: String, _ values: [[String]: Int]
        ) -> [String] {
            values.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { key, count in
                "\(metric){event=\"\(key[0])\",\(label)=\"\(key[1])\"} \(count)"
            }
        }
    }
}
