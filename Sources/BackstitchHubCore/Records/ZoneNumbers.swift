import Threading

/// The numbers that zones had when they were last looked at, and how far their feeds went, so that what is
/// read of a zone can be told before its row was read.
///
/// They are hints: a transaction goes by the row, and reads again if the number is another one.
final class ZoneNumbers: Sendable {
    /// The most zones that are remembered; then all are forgotten.
    private static let zonesMax = 100_000

    private struct Name: Hashable {
        var partition: Partition
        var zoneName: String
    }

    private struct State {
        var zones: [Name: (number: UInt32, sequence: UInt64)] = [:]
        /// Where the lists of changed zones ended.
        var sequences: [Partition: UInt64] = [:]
    }

    private let state = Locked(State())
    /// What was read of the rows of zones.
    let rows = RowMemo<ZoneRow>()
    /// What was read of the rows of databases.
    let databases = RowMemo<DatabaseRow>()

    /// Where a zone probably is; nil if nothing is known of it.
    func place(of zoneName: String, in partition: Partition) -> ZonePlace? {
        let zone = state.withLock { $0.zones[Name(partition: partition, zoneName: zoneName)] }
        return zone.map { ZonePlace(partition: partition, number: $0.number) }
    }

    /// What is read to see that nothing is behind the ends of the feeds that a write to a zone makes longer,
    /// so that what it adds there is known to be new.
    func expectedEnds(of zoneName: String, in partition: Partition) -> [KeyQuery] {
        let (zone, sequence) = state.withLock { state in
            (
                state.zones[Name(partition: partition, zoneName: zoneName)],
                state.sequences[partition]
            )
        }
        var ends: [KeyQuery] = []
        if let zone {
            let feed = ZonePlace(partition: partition, number: zone.number).key(.feed)
            ends.append(.first(1, of: feed, from: feed.adding(zone.sequence + 1)))
        }
        if let sequence {
            let feed = HubKey(partition, .databaseFeed)
            ends.append(.first(1, of: feed, from: feed.adding(sequence + 1)))
        }
        return ends
    }

    /// Notes where a zone is and how far its feed goes, and that of its database if that is known.
    func note(_ zone: ZoneRow, _ database: DatabaseRow? = nil, in partition: Partition) {
        state.withLock { state in
            if state.zones.count >= Self.zonesMax { state = State() }
            let name = Name(partition: partition, zoneName: zone.zoneName)
            state.zones[name] = (zone.number, zone.sequence)
            if let database { state.sequences[partition] = database.sequence }
        }
    }
}
