import Backstitch
import BackstitchViews
import BenchmarkKit
import PeerInterface

extension EngineBenchmark {
    private static let views: [(name: String, projections: [any RecordProjection])] = [
        ("plain", []),
        ("totals", [GroupedTotals("totals", of: Contact.self, by: \.age, sum: \.balance)]),
        (
            "totals-late",
            [
                GroupedTotals(
                    "totals", of: Contact.self, by: \.age, sum: \.balance, mode: .catchingUp)
            ]
        ),
        (
            "search",
            [TextIndex("search", TextSource(Contact.self, \.firstName, \.lastName, \.notes))]
        ),
    ]

    /// What views cost: saves with one that is kept up inline, and building it from the log.
    mutating func projections() async throws {
        // All in turn, and again, so that what else the machine does meets all alike.
        for _ in 0..<3 {
            for (name, projections) in Self.views {
                try saves(name, projections)
            }
        }
        for (name, projections) in Self.views where !projections.isEmpty {
            try await build(name, projections)
        }
    }

    private mutating func saves(_ name: String, _ projections: [any RecordProjection]) throws {
        for (size, count) in [(1, 2_000), (1_000, 10)] {
            let store = try open(.relaxed, projections)
            defer { remove(store) }
            let parts = Self.parts(0..<(size * count), of: size)
            let start = peer_nanoseconds()
            for part in parts { try save(part, in: store) }
            let inserted = peer_nanoseconds()
            for part in parts { try raise(part, in: store) }
            let updated = peer_nanoseconds()
            note("\(name)-insert-\(size)", Double(inserted - start) / Double(size * count))
            note("\(name)-update-\(size)", Double(updated - inserted) / Double(size * count))
        }
    }

    private mutating func build(_ name: String, _ projections: [any RecordProjection]) async throws
    {
        let half = options.operations / 2
        let plain = try open(.relaxed)
        for part in Self.parts(0..<half) { try save(part, in: plain) }
        for part in Self.parts(0..<half) { try raise(part, in: plain) }
        plain.close()
        let start = peer_nanoseconds()
        let store = try open(.relaxed, projections)
        defer { remove(store) }
        try await store.prepareProjections()
        let built = peer_nanoseconds()
        note(
            "\(name)-build", Double(2 * half) / Double(built - start) * 1e9, "operations/s")
    }
}
