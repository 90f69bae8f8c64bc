/// A zone's feed: its records in the order of their last changes.
///
/// Records are visited where they lie, and nothing of them is copied.
struct ZoneFeed {
    /// How long a page is at most; it has one record at least, if the reply has room.
    struct PageLimits: Hashable {
        var count: Int
        /// Of fields; the record that reaches this is the last one.
        var bytes: Int
        /// Of what is made of the records. If nothing is left, the page has none.
        var replyBytes = Int.max
    }

    /// Where a page ended.
    struct PageEnd: Hashable {
        /// The position that the next page starts at.
        var sequence: UInt64
        var moreComing: Bool
        /// What the fields of its records are, in bytes.
        var bytes: Int
    }

    /// Takes a record, and tells how many bytes it made of it.
    typealias Visit = (_ name: UnsafeRawBufferPointer, _ record: StoredRecordView) throws -> Int

    let zone: ZoneRow
    /// The partition of the zone's database.
    let partition: Partition
    let transaction: any HubReading

    /// What is read for a page of the changes after a position. It has one entry more, which tells that
    /// there are more.
    static func query(_ place: ZonePlace, after position: UInt64, countMax: Int) -> KeyQuery {
        let feed = place.key(.feed)
        return .first(
            countMax + 1, of: feed, from: feed.adding(position &+ 1), under: place.key(.record))
    }

    /// As above, of the changes before a position.
    static func query(_ place: ZonePlace, before position: UInt64, countMax: Int) -> KeyQuery {
        let feed = place.key(.feed)
        return .last(
            countMax + 1, of: feed, before: feed.adding(position), namesUnder: place.key(.record))
    }

    /// Visits the records that changed after a position, oldest change first.
    ///
    /// - Complexity: O(*n*) in the records of the page.
    func visit(after position: UInt64, _ limits: PageLimits, _ visit: Visit) throws -> PageEnd {
        var page = Page(self, limits)
        transaction.expect {
            [Self.query(zone.place(in: partition), after: position, countMax: limits.count)]
        }
        try unsafe transaction.scan(page.prefix, from: page.prefix.adding(position + 1)) {
            try unsafe page.take($0, $1, visit)
        }
        let end = page.isCut ? page.lastSequence ?? position : zone.sequence
        return PageEnd(sequence: end, moreComing: page.isCut, bytes: page.bytes)
    }

    /// As above, latest change first: those that changed before a position.
    func visit(before position: UInt64, _ limits: PageLimits, _ visit: Visit) throws -> PageEnd {
        var page = Page(self, limits)
        transaction.expect {
            [Self.query(zone.place(in: partition), before: position, countMax: limits.count)]
        }
        try unsafe transaction.scanBackwards(page.prefix, before: page.prefix.adding(position)) {
            try unsafe page.take($0, $1, visit)
        }
        return PageEnd(
            sequence: page.lastSequence ?? (page.isCut ? position : 0), moreComing: page.isCut,
            bytes: page.bytes)
    }

    /// A page as it fills.
    private struct Page {
        let prefix: HubKey
        let records: HubKey
        private let transaction: any HubReading
        private let limits: PageLimits
        private var count = 0
        private(set) var bytes = 0
        private var made = 0
        private(set) var lastSequence: UInt64?
        /// Whether it is full and there is more.
        private(set) var isCut = false

        init(_ feed: ZoneFeed, _ limits: PageLimits) {
            let place = feed.zone.place(in: feed.partition)
            prefix = place.key(.feed)
            records = place.key(.record)
            transaction = feed.transaction
            self.limits = limits
        }

        /// Takes the record that an entry of the feed names; false if the page is full.
        mutating func take(
            _ key: UnsafeRawBufferPointer, _ name: UnsafeRawBufferPointer, _ visit: Visit
        ) throws -> Bool {
            guard made < limits.replyBytes,
                count == 0 || (count < limits.count && bytes < limits.bytes)
            else {
                isCut = true
                return false
            }
            let size = try unsafe transaction.withValue(records.adding(name)) { stored in
                let record = try unsafe StoredRecordView(stored)
                transaction.work.countRecord()
                unsafe made += try visit(name, record)
                return unsafe record.fieldsJSON.count
            }
            guard let size else {
                throw HubError(
                    .damaged,
                    "The hub's data is damaged: the feed names a record that is not there. Restore "
                        + "a backup.")
            }
            count += 1
            bytes += size
            lastSequence = unsafe key.number(behind: prefix)
            return true
        }
    }
}
