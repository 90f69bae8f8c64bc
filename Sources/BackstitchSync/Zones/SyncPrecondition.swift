package import BackstitchCore
package import BackstitchLog
package import BackstitchStore

/// What a request was made from: a reply is stored only if the store still says the same.
///
/// A request may be answered after its engine was stopped and another one went on, after another
/// process took over, or after the application began anew. Its reply is then about a state that is no
/// more: a page would move the token past records that this store has not seen, and a full fetch would end
/// them as missing. What such a reply told is asked again.
package struct SyncPrecondition: Sendable {
    /// The store is not as it was when the request was made; nothing was stored.
    package struct Outdated: Error {
        package init() {}
    }

    /// Whether the engine's lease goes on; without a hold on it.
    private let isCurrent: @Sendable () -> Bool
    /// The number of the lease among all that the store ever had.
    package let number: UInt64
    private let zone: ZonePlace
    /// The zone's state as it is stored, with the tokens that requests ask from.
    private var state: StoredZoneState

    fileprivate init(_ lease: SyncLease, number: UInt64, zone: ZonePlace, _ reader: TableReader)
        throws
    {
        isCurrent = lease.isCurrent
        self.number = number
        self.zone = zone
        state = try StoredZoneState(of: zone, reader)
    }

    /// - Throws: ``Outdated`` if the store is another.
    fileprivate func check(_ reader: TableReader) throws {
        guard try holds(reader) else { throw Outdated() }
    }

    /// Whether the store is the same.
    fileprivate func holds(_ reader: TableReader) throws -> Bool {
        try isCurrent() && Self.lastLease(reader) == number
            && StoredZoneState(of: zone, reader) == state
    }

    /// What requests are made from that follow what the store has now.
    fileprivate func next(_ reader: TableReader) throws -> SyncPrecondition {
        var next = self
        next.state = try StoredZoneState(of: zone, reader)
        return next
    }
}

extension SyncPrecondition {
    /// What requests are made from that a lease's engine sends from now on.
    ///
    /// A lease begins with a commit of its own: what was stored under earlier ones is there then, and
    /// nothing of theirs comes after it.
    /// - Parameter known: What an earlier call returned for the lease.
    /// - Throws: ``Outdated`` if another lease began after this one.
    package static func of(
        _ lease: SyncLease, in store: Store, zone: ZonePlace, after known: SyncPrecondition?
    ) async throws -> SyncPrecondition {
        if let known {
            return try store.read { transaction in
                let reader = transaction.reader
                guard lease.isCurrent(), try lastLease(reader) == known.number else {
                    throw Outdated()
                }
                return try SyncPrecondition(lease, number: known.number, zone: zone, reader)
            }
        }
        let isCurrent = lease.isCurrent
        let number = try await store.withLogWriter { context in
            guard isCurrent(), try LogHorizon(context.reader).maySync else { throw Outdated() }
            let number = try lastLease(context.reader) + 1
            try context.setMeta(
                MetaName.syncTurn, number.bigEndianBytes)
            return number
        }
        return try store.read { transaction in
            try SyncPrecondition(lease, number: number, zone: zone, transaction.reader)
        }
    }

    /// Stores what a reply told, if the store is still the one that its request was made from.
    ///
    /// - Parameter others: What requests to other zones are made from.
    /// - Returns: what the closure returned, and what further requests are made from. Of the others those that
    ///   the store had moved on from stay as they are.
    /// - Throws: ``Outdated`` if it is another; what the closure throws.
    package func write<Result: Sendable>(
        to store: Store, with others: [SyncPrecondition] = [],
        _ body: @escaping @Sendable (LogWriter) throws -> Result
    ) async throws -> (Result, SyncPrecondition, others: [SyncPrecondition]) {
        try await store.withLogWriter { context in
            let reader = context.reader
            try check(reader)
            let isKept = try others.map { try $0.holds(reader) }
            let result = try body(context)
            let kept = try zip(others, isKept).map { try $1 ? $0.next(reader) : $0 }
            return (result, try next(reader), kept)
        }
    }

    /// The number of the last lease that began; 0 before the first.
    private static func lastLease(_ reader: TableReader) throws -> UInt64 {
        guard let bytes = try reader.meta.value(MetaName.syncTurn), bytes.count == 8 else {
            return 0
        }
        return bytes.bigEndian()
    }
}
