import BackstitchCore

/// A commit of a database: the run that made it, and how far the list of changed zones went by it.
struct FeedMark: Hashable, Sendable {
    /// 0 before the first commit.
    var run: UInt64
    var sequence: UInt64
}

/// The runs that wrote to a database before the one that wrote last, and how far each of them came.
///
/// A commit of a run is part of this history if it is not behind the run's last one here. A hub whose data
/// was put back to an older state begins another run, so that the runs whose commits are lost stay where they
/// were, however far others write past the place.
struct FeedHistory: Hashable, Sendable {
    /// How far a run came, and when another one followed it: until then it gave out tokens.
    struct Entry: Hashable, Sendable {
        var mark: FeedMark
        /// In milliseconds since 1970.
        var time: Int64
    }

    /// So many runs are kept however long ago they wrote.
    static let runsMin = 256

    /// By how far they came.
    private(set) var entries: [Entry] = []

    static func key(_ partition: Partition) -> HubKey { HubKey(partition, .history) }

    /// A history without runs.
    init() {}

    /// Whether it has a commit.
    func holds(_ mark: FeedMark) -> Bool {
        entries.contains { $0.mark.run == mark.run && mark.sequence <= $0.mark.sequence }
    }

    /// Notes how far a run came before another one writes.
    ///
    /// Runs are forgotten whose devices have been away for longer than tombstones are kept, or the oldest ones if
    /// there are too many.
    ///
    /// - Parameter now: Milliseconds since 1970.
    mutating func note(_ mark: FeedMark, at now: Int64, _ limits: HubLimits) {
        entries.removeAll { $0.mark.run == mark.run }
        entries.append(Entry(mark: mark, time: now))
        var forgotten = max(0, entries.count - limits.runsPerDatabase)
        let oldest = now - limits.tombstoneMilliseconds
        while entries.count - forgotten > Self.runsMin, entries[forgotten].time < oldest {
            forgotten += 1
        }
        entries.removeFirst(forgotten)
    }

    // MARK: Bytes

    /// The version of the bytes, which comes first.
    private static let version: UInt8 = 1
    private static let entryBytes = 24

    /// Run, sequence and time of each entry, big-endian.
    var stored: [UInt8] {
        var bytes = [Self.version]
        for entry in entries {
            bytes += entry.mark.run.bigEndianBytes + entry.mark.sequence.bigEndianBytes
            bytes += UInt64(bitPattern: entry.time).bigEndianBytes
        }
        return bytes
    }

    init(stored bytes: [UInt8]) throws(HubError) {
        guard bytes.first == Self.version, (bytes.count - 1).isMultiple(of: Self.entryBytes) else {
            throw HubError(
                .damaged,
                "The hub's data is damaged: the history of a database can't be read. Restore a "
                    + "backup.")
        }
        func number(_ start: Int) -> UInt64 {
            bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        entries = stride(from: 1, to: bytes.count, by: Self.entryBytes).map { start in
            Entry(
                mark: FeedMark(run: number(start), sequence: number(start + 8)),
                time: Int64(bitPattern: number(start + 16)))
        }
    }
}

extension HubReading {
    /// The runs that wrote to a database before the last one.
    func history(of partition: Partition) throws -> FeedHistory {
        expect { [.key(FeedHistory.key(partition))] }
        return try value(FeedHistory.key(partition)).map { try FeedHistory(stored: $0) }
            ?? FeedHistory()
    }
}

extension HubWriting {
    /// Notes in a database's row that this run writes to it, and in its history how far the run before came.
    ///
    /// - Parameter now: Milliseconds since 1970.
    func noteRun(
        in database: inout DatabaseRow, _ partition: Partition, now: Int64, _ limits: HubLimits
    ) throws {
        let run = try self.run
        guard database.run != run else { return }
        if database.sequence > 0 {
            var history = try history(of: partition)
            history.note(database.mark, at: now, limits)
            try put(FeedHistory.key(partition), history.stored)
        }
        database.run = run
    }
}
