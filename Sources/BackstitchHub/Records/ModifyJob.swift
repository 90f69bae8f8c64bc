import CloudKitWire

/// A `records/modify` as it runs in a transaction: all of it takes effect, or what failed leaves no
/// trace.
struct ModifyJob: Sendable {
    /// The most bytes of an answer that is kept for the case that its request comes again.
    private static let ledgerBytesMax = 256 << 10
    /// The most old answers that a write removes in passing.
    private static let ledgerRemovalsMax = 32

    enum Outcome: Sendable {
        case done(body: [UInt8], changes: [Hub.Change])
        /// The request came before; this was the answer.
        case repeated(body: [UInt8])
    }

    let request: ModifyRecordsRequest
    let access: DatabaseAccess
    let author: String
    /// Milliseconds since 1970.
    let now: Int64
    let limits: HubLimits
    let assets: AssetFiles
    /// Where the answer is kept; nil where the request has no name.
    let ledgerKey: HubKey?
    let bodyHash: [UInt8]

    /// Runs the request.
    ///
    /// - Parameter encode: Makes the body of the answer.
    func run(
        _ transaction: any HubWriting, encode: (ModifyPlan, StateRow) -> [UInt8]
    ) throws -> Outcome {
        if let body = try knownAnswer(transaction) { return .repeated(body: body) }
        var database = try transaction.openDatabase(access)
        try transaction.countBytes(of: &database, access)
        var zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
        let state = try transaction.state()
        let planner = ModifyPlanner(
            view: StoredZoneView(transaction: transaction, zone: zone.number, now: now),
            context: ModifyContext(
                isPublic: access.isPublic, user: author, now: now, tagSuffix: state.tagSuffix,
                sequence: zone.sequence, limits: limits,
                bytesLeft: limits.bytesLeft(in: database, isPublic: access.isPublic)))
        // The reference makes requests to custom zones atomic unless they say otherwise.
        let isAtomic = !zone.isDefault && (request.isAtomic ?? true)
        let plan = try planner.plan(request.operations, isAtomic: isAtomic)
        if !plan.writes.isEmpty {
            let growth = try plan.growth()
            zone.bytes = (zone.bytes ?? 0) + growth
            database.bytes = (database.bytes ?? 0) + growth
            try ZoneWriter(transaction: transaction, now: now, limits: limits, assets: assets)
                .write(plan, to: &zone)
            try transaction.noteChange(of: &zone, in: &database, access)
        }
        let body = encode(plan, state)
        try keepAnswer(body, transaction)
        return .done(body: body, changes: plan.writes.map(Hub.Change.init))
    }

    // MARK: Requests that come again

    private func knownAnswer(_ transaction: any HubReading) throws -> [UInt8]? {
        guard let ledgerKey, let stored = try transaction.value(ledgerKey) else { return nil }
        guard stored.count >= 8 + bodyHash.count,
            stored[8..<(8 + bodyHash.count)].elementsEqual(bodyHash)
        else { throw WireError(.badRequest, "Another request had this id. Give each its own.") }
        return Array(stored[(8 + bodyHash.count)...])
    }

    /// Keeps an answer: the time when it can go (8 bytes), the hash of the request, the answer.
    private func keepAnswer(_ body: [UInt8], _ transaction: any HubWriting) throws {
        guard let ledgerKey, body.count <= Self.ledgerBytesMax else { return }
        let times = HubKey(.ledgerTime)
        var old: [(time: HubKey, answer: HubKey)] = []
        try transaction.scan(times, from: nil) { key, value in
            guard key.number(behind: times) < UInt64(max(0, now)) else { return false }
            old.append((HubKey(bytes: key), HubKey(bytes: value)))
            return old.count < Self.ledgerRemovalsMax
        }
        for (time, answer) in old {
            try transaction.delete(time)
            try transaction.delete(answer)
        }
        let end = UInt64(max(0, now + limits.ledgerMilliseconds))
        let bytes = withUnsafeBytes(of: end.bigEndian) { Array($0) }
        try transaction.put(ledgerKey, bytes + bodyHash + body)
        try transaction.put(
            times.adding(end).adding(ledgerKey.bytes.dropFirst()), ledgerKey.bytes)
    }
}

extension Hub.Change {
    /// What a write means to those who want to know of changes.
    init(_ write: ModifyPlan.Write) {
        if write.after.isDeleted {
            kind = .deleted
        } else {
            kind = write.before?.isDeleted == false ? .updated : .created
        }
        record = write.after
    }
}
