public import Foundation

/// Something that a store or a sync engine did, for logs, metrics and traces.
///
/// It carries names, codes and counts, and no value that a user entered. `StoreConfiguration.monitor`
/// gets the events of a store and of the engines that use it.
public struct MonitorEvent: Sendable {
    /// What it was: `store.commit`, `store.largeRecords`, `store.dataMigration`, `sync.round`, `sync.conflict`, `sync.parked`,
    /// `sync.rejected`, `sync.undelivered` or `sync.zoneLost`; new ones may join.
    public let name: String
    /// When it was over.
    public let date: Date
    /// How long it took, for what has a beginning and an end.
    public let duration: Duration?
    /// How much of what it was, such as the `operations` of a commit; by entity for `store.largeRecords`.
    public let counts: [String: Int]
    /// The code of the error that it ended with; nil if it went well.
    public let error: String?

    package init(
        _ name: String, date: Date, since start: Date? = nil, counts: [String: Int] = [:],
        error: String? = nil
    ) {
        self.name = name
        self.date = date
        duration = start.map { .milliseconds(max(0, Int64(date.timeIntervalSince($0) * 1_000))) }
        self.counts = counts
        self.error = error
    }

    /// The event as an object of JSON on one line, without its end: `time`, `name`, and `seconds`,
    /// `counts` and `error` if there are any. Its keys are sorted.
    public var jsonLine: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(
            time: date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
            name: name,
            seconds: duration.map { Double($0.wholeMilliseconds) / 1_000 },
            counts: counts.isEmpty ? nil : counts, error: error)
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private struct Line: Encodable {
        let time: String
        let name: String
        let seconds: Double?
        let counts: [String: Int]?
        let error: String?
    }
}
