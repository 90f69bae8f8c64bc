import BackstitchCore
package import BackstitchLog
package import BackstitchStore

/// What a request was made from: a reply is stored only if the store still says the same.
///
/// A request may be answered after its engine was stopped and another one went on, after another
/// process took over, or after the application began anew. Its reply is then about a state that is no
/// more: a page would move the token past records that this store has not seen, and a full fetch would end
/// them as missing. What such a reply told is asked again.
package struct SyncBasis: Sendable {
    /// The store is not as it was when the request was made; nothing was stored.
    package struct Outdated: Error {
        package init() {}
    }

    /// Whether the engine's turn goes on; without a hold on it.
    private let isCurrent: @Sendable () -> Bool
    /// The number of the turn among all that the store ever had.
    package let number: UInt64
    private let zone: String
    /// The zone's state, with the tokens that requests ask from.
    private var state: ZoneState

    fileprivate init(_ turn: SyncTurn, number: UInt64, zone: String, _ reader: TableReader) throws {
        isCurrent = turn.isCurrent
        self.number = number
        self.zone = zone
        state = try reader.zoneState(zone)
    }

    /// - Throws: ``Outdated`` if the store is another.
    fileprivate func check(_ reader: TableReader) throws {
        guard isCurrent(), try Self.lastTurn(reader) == number, try reader.zoneState(zone) == state
        else { throw Outdated() }
    }

    /// What requests are made from that follow what the store has now.
    fileprivate func next(_ reader: TableReader) throws -> SyncBasis {
        var next = self
        next.state = try reader.zoneState(zone)
        return next
    }
}

extension SyncBasis {
    /// What requests are made from that a turn's engine sends from now on.
    ///
    /// A turn begins with a commit of its own: what was stored under earlier ones is there then, and
    /// nothing of theirs comes after it.
    /// - Parameter known: What an earlier call returned for the turn.
    /// - Throws: ``Outdated`` if another turn began after this one.
    package static func of(
        _ turn: SyncTurn, in store: Store, zone: String, after known: SyncBasis?
    ) async throws -> SyncBasis {
        if let known {
            return try store.read { transaction in
                let reader = transaction.reader
                guard turn.isCurrent(), try lastTurn(reader) == known.number else {
                    throw Outdated()
                }
                return try SyncBasis(turn, number: known.number, zone: zone, reader)
            }
        }
        let isCurrent = turn.isCurrent
        let number = try await store.withLogWriter { context in
            guard isCurrent(), try LogBounds(context.reader).maySync else { throw Outdated() }
            let number = try lastTurn(context.reader) + 1
            try context.setMeta(
                MetaName.syncTurn, number.bigEndianBytes)
            return number
        }
        return try store.read { transaction in
            try SyncBasis(turn, number: number, zone: zone, transaction.reader)
        }
    }

    /// Stores what a reply told, if the store is still the one that its request was made from.
    ///
    /// - Returns: what the closure returned, and what further requests are made from.
    /// - Throws: ``Outdated`` if it is another; what the closure throws.
    package func write<Result: Sendable>(
        to store: Store, _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> (Result, SyncBasis) {
        try await store.withLogWriter { context in
            try check(context.reader)
            let result = try body(context)
            return (result, try next(context.reader))
        }
    }

    /// The number of the last turn that began; 0 before the first.
    private static func lastTurn(_ reader: TableReader) throws -> UInt64 {
        guard let bytes = try reader.meta.value(MetaName.syncTurn), bytes.count == 8 else {
            return 0
        }
        return bytes.bigEndian()
    }
}
