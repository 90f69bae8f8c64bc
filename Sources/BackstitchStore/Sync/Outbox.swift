package import BackstitchCore

/// A record with operations that the service does not have, folded to what has to be pushed.
package struct PendingChange: Equatable, Sendable {
    package let entity: EntityNumber
    package let entityName: String
    package let key: RecordKey
    /// What has to be done on the service.
    package let push: RecordFold.Push
    /// The last operation that this covers; the acknowledgement names it.
    package let through: UInt64
    /// The change tag of the base; empty where the service is not known to have the record.
    package let changeTag: String

    package init(
        entity: EntityNumber, entityName: String, key: RecordKey, push: RecordFold.Push,
        through: UInt64, changeTag: String
    ) {
        self.entity = entity
        self.entityName = entityName
        self.key = key
        self.push = push
        self.through = through
        self.changeTag = changeTag
    }
}

/// A run of the log folded to the changes that have to be pushed.
package struct Outbox: Equatable, Sendable {
    /// In the order of their first unsynced operation.
    package var changes: [PendingChange] = []
    /// The last operation that was looked at.
    package var through: UInt64 = 0
    /// Whether that is the end of the log.
    package var isComplete = true

    package init() {}
}

/// How many records and operations wait, by what keeps them.
public struct OutboxCounts: Hashable, Sendable {
    /// Records with operations that are to be pushed.
    public internal(set) var pendingRecords = 0
    /// Operations that are to be pushed.
    public internal(set) var pendingOperations = 0
    /// Records whose operations are parked.
    public internal(set) var parkedRecords = 0
    /// Operations that are parked. With ``pendingOperations`` they are all that the service does not
    /// have.
    public internal(set) var parkedOperations = 0
    /// Records with operations that the engine's selection holds back.
    public internal(set) var heldBackRecords = 0
    /// Conflicts in the journal.
    public internal(set) var conflicts = 0
}

extension TableReader {
    /// Folds unsynced operations per record, from the oldest on.
    ///
    /// Stops behind the transaction in which the number of records reaches `recordsMax`, so that
    /// records saved together are pushed together where they fit. What these records' later
    /// operations change goes along with them, as far as it needs no record that comes later: a
    /// record is pushed once, not once for every run of the log in which it was edited.
    ///
    /// - Parameters:
    ///   - start: Operations up to this sequence are left out, unless a record has later ones too.
    ///   - selection: What is not held back.
    ///   - wholes: Records that are folded with all their operations, whatever these need.
    package func foldOutbox(
        recordsMax: Int, after start: UInt64 = 0, selection: BoundSelection = BoundSelection(),
        wholes: Set<RecordPlace> = []
    ) throws -> Outbox {
        var outbox = Outbox()
        var folds: [PendingFold] = []
        // Nil marks records that have nothing to push, so that they are looked up once.
        var positions: [RecordPlace: Int?] = [:]
        var lastTransaction: UInt64 = 0
        outbox.through = max(try outboxFloor, start)
        try visitOperations(from: outbox.through + 1) { operation in
            if folds.count >= recordsMax, operation.transaction != lastTransaction {
                outbox.isComplete = false
                return false
            }
            lastTransaction = operation.transaction
            outbox.through = operation.sequence
            guard operation.kind.changesContent, !operation.isTombstone else { return true }
            let place = RecordPlace(entity: operation.entity, key: try operation.key)
            if let known = positions[place] {
                guard let position = known else { return true }
                try folds[position].add(operation)
                return true
            }
            guard let fold = try startFold(operation, place, selection) else {
                // Acknowledged up to here; a later operation of the record may still be pending.
                return true
            }
            positions[place] = fold.waits ? .some(nil) : folds.count
            if !fold.waits { folds.append(fold) }
            return true
        }
        for index in folds.indices where !outbox.isComplete || wholes.contains(folds[index].place) {
            let isWhole = wholes.contains(folds[index].place)
            try complete(&folds[index]) { table, step in
                try !isWhole && needsLater(step, in: table) { positions[$0] != nil }
            }
        }
        outbox.changes = try folds.compactMap { fold in
            guard let table = catalog.table(fold.place.entity) else { return nil }
            return PendingChange(
                entity: fold.place.entity, entityName: table.name, key: fold.place.key,
                push: try push(of: fold), through: fold.fold.lastSequence,
                changeTag: fold.changeTag)
        }
        return outbox
    }

    /// Adds a record's later operations to its fold, up to one that has to wait.
    private func complete(
        _ fold: inout PendingFold, until waits: (EntityTable, OperationStep) throws -> Bool
    ) throws {
        guard let table = catalog.table(fold.place.entity),
            let row = try row(fold.place.entity, fold.place.key),
            row.lastSequence > fold.fold.lastSequence
        else { return }
        let rest = try contentSteps(from: row.lastSequence, after: fold.fold.lastSequence)
        for step in rest {
            if try waits(table, step) { return }
            fold.fold.add(step.without(fold.unsent))
        }
    }

    /// Whether a change may be refused before other records are pushed: a delete, before references
    /// to the record are gone, and a reference that needs a record which the service does not have.
    private func needsLater(
        _ step: OperationStep, in table: EntityTable, isFolded: (RecordPlace) -> Bool
    ) throws -> Bool {
        let fields: Fields
        switch step.change {
        case .delete: return true
        case .insert(let all): fields = all
        case .update(_, let after): fields = after
        }
        for attribute in table.denyingReferences {
            guard let reference = attribute.schema?.reference,
                case .reference(let key) = fields.value(attribute.field),
                let target = catalog.table(named: reference.target)?.number,
                !isFolded(RecordPlace(entity: target, key: key)),
                let row = try row(target, key)
            else { continue }
            if !row.isDeleted, !row.hasChangeTag { return true }
        }
        return false
    }

    /// What a fold has to do on the service. A record that began as one that stays on this device is
    /// not there yet, so that an edit brings all of it.
    private func push(of fold: PendingFold) throws -> RecordFold.Push {
        switch fold.fold.push {
        case .update where fold.changeTag.isEmpty:
            guard let row = try row(fold.place.entity, fold.place.key),
                let fields = try row.fields.map({ try Fields($0) })
            else { return .nothing }
            return .create(fields.without(fold.unsent).withoutNulls)
        case .delete where fold.changeTag.isEmpty:
            return .nothing
        case let push:
            return push
        }
    }

    /// Whether the service does not have an operation of a record that has a row.
    ///
    /// A row that was never synced may be of a later life of its record: operations of a life that
    /// ended before it began are not its own.
    private func isUnsynced(_ operation: OperationView, _ row: RowView) throws -> Bool {
        guard operation.sequence > row.syncedSequence else { return false }
        guard row.syncedSequence == 0 else { return true }
        var first = row.lastSequence
        while first > operation.sequence,
            let previous = try withOperation(first, \.previous), previous > 0
        {
            first = previous
        }
        return first <= operation.sequence
    }

    private func startFold(
        _ operation: OperationView, _ place: RecordPlace, _ selection: BoundSelection
    ) throws -> PendingFold? {
        guard let row = try row(place.entity, place.key), try isUnsynced(operation, row)
        else { return nil }
        var fold = PendingFold(
            place: place, changeTag: row.changeTag,
            waits: try row.flags.contains(.isParked) || isHeldBack(place, row, by: selection),
            unsent: catalog.table(place.entity)?.unsentFields ?? [])
        // The floor may lie behind the first unsynced operation of a record that was parked.
        for step in try contentSteps(from: operation.previous, after: row.syncedSequence) {
            fold.fold.add(step.without(fold.unsent))
        }
        try fold.add(operation)
        return fold
    }

    /// The sequence before which every operation is settled or parked.
    var outboxFloor: UInt64 {
        get throws {
            guard let bytes = try meta(MetaName.outboxFloor), bytes.count == 8 else { return 0 }
            return bytes.withUnsafeBytes { $0.sequence }
        }
    }

    /// Counts what waits. Reads the log from the oldest unsynced operation on.
    ///
    /// - Parameter fromStart: Whether operations before the outbox's floor may wait too.
    package func countOutbox(
        selection: BoundSelection = BoundSelection(), fromStart: Bool = false
    ) throws -> OutboxCounts {
        var counts = OutboxCounts()
        var records: Set<RecordPlace> = []
        try visitOperations(from: fromStart ? 1 : outboxFloor + 1) { operation in
            guard operation.kind.changesContent, !operation.isTombstone else { return true }
            guard let row = try row(operation.entity, keyBytes: operation.keyBytes),
                try isUnsynced(operation, row), !row.flags.contains(.isParked)
            else { return true }
            let place = RecordPlace(entity: operation.entity, key: try operation.key)
            if try isHeldBack(place, row, by: selection) { return true }
            counts.pendingOperations += 1
            records.insert(place)
            return true
        }
        counts.pendingRecords = records.count
        try visitParked { place, _, _ in
            counts.parkedRecords += 1
            if let row = try row(place.entity, place.key) {
                counts.parkedOperations +=
                    try contentSteps(from: row.lastSequence, after: row.syncedSequence).count
            }
            return true
        }
        counts.heldBackRecords = try countHeldBack(by: selection)
        counts.conflicts = try count(table: TableKey.journal)
        return counts
    }

    private func count(table: UInt8) throws -> Int {
        var count = 0
        var prefix = ByteBuffer(capacity: 16)
        prefix.append(table)
        try visit(prefix: prefix.bytes) { _, _ in
            count += 1
            return true
        }
        return count
    }
}

/// A fold that is under way.
private struct PendingFold {
    let place: RecordPlace
    let changeTag: String
    /// Whether it is parked or held back.
    let waits: Bool
    /// The fields that are not pushed.
    let unsent: Set<FieldID>
    var fold = RecordFold()

    mutating func add(_ operation: OperationView) throws {
        guard !waits else { return }
        fold.add(try OperationStep(operation).without(unsent))
    }
}
