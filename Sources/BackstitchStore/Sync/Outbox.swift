package import BackstitchCore
package import BackstitchLog

/// A record with operations that the service does not have, folded to what has to be pushed.
package struct PendingChange: Equatable, Sendable {
    package let entity: EntityNumber
    package let entityName: String
    package let key: RecordKey
    /// What has to be done on the service.
    package let push: RecordFold.Push
    /// The last operation that this covers; the acknowledgement names it.
    package let through: UInt64
    /// The change tag of the base; empty if the service is not known to have the record.
    package let changeTag: String
    /// The names of references to records that come later in the log and are not on the service:
    /// the record is created without them, and they follow as an update.
    package let deferred: Set<String>
    /// When the service saved the base, or the older version that it was met with after a restore;
    /// 0 if it is not known to have the record.
    package let modifiedMilliseconds: Int64

    package init(
        entity: EntityNumber, entityName: String, key: RecordKey, push: RecordFold.Push,
        through: UInt64, changeTag: String, modifiedMilliseconds: Int64 = 0,
        deferred: Set<String> = []
    ) {
        self.deferred = deferred
        self.modifiedMilliseconds = modifiedMilliseconds
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
    /// The bytes that the changes take in memory while they are pushed, roughly.
    package var byteCount = 0

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
    /// Records with operations of which it was not asked whether the selection's predicates hold
    /// them back, because too many operations wait: they are pending or held back, and counted as
    /// neither. 0 without predicates, and where fewer than ``examinedMax`` operations are behind the
    /// outbox's floor.
    public internal(set) var unexaminedRecords = 0
    /// Conflicts in the journal.
    public internal(set) var conflicts = 0

    /// The most operations that are looked at to tell what a selection's predicates hold back.
    public static let examinedMax = 5_000
}

extension TableReader {
    /// Folds unsynced operations per record, from the oldest on.
    ///
    /// Stops behind the transaction in which the number of records reaches `recordsMax`, or their
    /// bytes half of `bytesMax`, so that records saved together are pushed together if they fit.
    /// Stops within a transaction if the bytes reach `bytesMax`; one record is folded whatever its
    /// size. What these records' later operations change goes along with them while the bytes allow
    /// it, as far as it needs no record that comes later: a record is pushed once, not once for
    /// every run of the log in which it was edited.
    ///
    /// - Parameters:
    ///   - start: Operations up to this sequence are left out, unless a record has later ones too.
    ///   - selection: What is not held back.
    ///   - wholes: Records that are folded with all their operations, whatever these need; the first
    ///     of them in any case, the others while the bytes allow it.
    package func foldOutbox(
        recordsMax: Int, bytesMax: Int = .max, after start: UInt64 = 0,
        selection: BoundSelection = BoundSelection(), wholes: Set<RecordPlace> = []
    ) throws -> Outbox {
        var outbox = Outbox()
        var folds: [PendingFold] = []
        // Nil marks records that have nothing to push, so that they are looked up once.
        var positions: [RecordPlace: Int?] = [:]
        var lastTransaction: UInt64 = 0
        var byteCount = 0
        outbox.through = max(try outboxFloor, start)
        try visitOperations(from: outbox.through + 1) { operation in
            let isNext = operation.transaction != lastTransaction
            let isHalfFull = byteCount > 0 && byteCount >= bytesMax / 2
            let isFull = byteCount > 0 && byteCount >= bytesMax
            if isFull || isNext && (isHalfFull || folds.count >= recordsMax) {
                outbox.isComplete = false
                return false
            }
            lastTransaction = operation.transaction
            outbox.through = operation.sequence
            guard operation.kind.changesContent, !operation.isTombstone else { return true }
            let place = RecordPlace(entity: operation.entity, key: try operation.key)
            if let known = positions[place] {
                guard let position = known else { return true }
                byteCount += try folds[position].add(operation)
                return true
            }
            guard let fold = try startFold(operation, place, selection) else {
                // Acknowledged up to here; a later operation of the record may still be pending.
                return true
            }
            positions[place] = fold.waits ? .some(nil) : folds.count
            byteCount += fold.waits ? PendingFold.placeByteCount : fold.byteCount
            if !fold.waits { folds.append(fold) }
            return true
        }
        let isWhole = folds.map { wholes.contains($0.place) }
        for index in folds.indices where isWhole[index] {
            byteCount += try complete(&folds[index]) { _, _ in false }
            if byteCount >= bytesMax { break }
        }
        for index in folds.indices where !outbox.isComplete && !isWhole[index] {
            if byteCount >= bytesMax { break }
            byteCount += try complete(&folds[index]) { table, step in
                try needsLater(step, in: table) { positions[$0] != nil }
            }
        }
        let (isComplete, through) = (outbox.isComplete, outbox.through)
        let hasMissed = try hasMissedVersions
        outbox.changes = try folds.compactMap { fold in
            guard let table = catalog.table(fold.place.entity) else { return nil }
            let push = try push(of: fold)
            return PendingChange(
                entity: fold.place.entity, entityName: table.name, key: fold.place.key,
                push: push, through: fold.fold.lastSequence, changeTag: fold.changeTag,
                modifiedMilliseconds: hasMissed
                    ? min(fold.modifiedMilliseconds, try missedMilliseconds(of: fold.place.key))
                    : fold.modifiedMilliseconds,
                deferred: isComplete
                    ? [] : try laterTargets(of: push, in: table, after: through, selection))
        }
        outbox.byteCount = byteCount
        return outbox
    }

    /// Adds a record's later operations to its fold, up to one that has to wait.
    ///
    /// - Returns: by how many bytes the fold grew.
    private func complete(
        _ fold: inout PendingFold, until waits: (EntityTable, OperationStep) throws -> Bool
    ) throws -> Int {
        guard let table = catalog.table(fold.place.entity),
            let row = try row(fold.place.entity, fold.place.key),
            row.lastSequence > fold.fold.lastSequence
        else { return 0 }
        let before = fold.byteCount
        let start = fold.fold.lastSequence
        try visitContentSteps(from: row.lastSequence, after: start) { step in
            if try waits(table, step) { return false }
            fold.add(step)
            return true
        }
        return fold.byteCount - before
    }

    /// The references of a create to records that the service does not have and that come later in
    /// the log, so that a later pass pushes them.
    private func laterTargets(
        of push: RecordFold.Push, in table: EntityTable, after through: UInt64,
        _ selection: BoundSelection
    ) throws -> Set<String> {
        guard case .create(let fields) = push else { return [] }
        var names: Set<String> = []
        for attribute in table.denyingReferences {
            guard case .reference(let key) = fields.value(attribute.field),
                let reference = attribute.schema?.reference,
                let target = catalog.table(named: reference.target)?.number,
                let row = try row(target, key), !row.isDeleted, !row.hasChangeTag,
                !row.flags.contains(.isParked), row.lastSequence > through,
                try !isHeldBack(RecordPlace(entity: target, key: key), row, by: selection)
            else { continue }
            var isLater = true
            try visitUnsynced(of: row) { sequence in isLater = sequence > through }
            if isLater { names.insert(attribute.name) }
        }
        return names
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
            guard let fields = try fields(of: fold.place, after: fold.fold.lastSequence) else {
                return .nothing
            }
            return .create(fields.without(fold.unsent).withoutNulls)
        case .delete where fold.changeTag.isEmpty:
            return .nothing
        case let push:
            return push
        }
    }

    /// The fields of a record as one of its operations left them, which may not be the last; nil if
    /// it did not exist then.
    private func fields(of place: RecordPlace, after sequence: UInt64) throws -> Fields? {
        guard let row = try row(place.entity, place.key) else { return nil }
        let now = row.isDeleted ? nil : try row.fields.map { try Fields($0) }
        let later = try contentSteps(from: row.lastSequence, after: sequence)
        return later.reversed().reduce(now) { $1.change.undone(from: $0) }
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
            place: place, changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds,
            waits: try row.flags.contains(.isParked) || isHeldBack(place, row, by: selection),
            unsent: catalog.table(place.entity)?.unsentFields ?? [])
        // The floor may lie behind the first unsynced operation of a record that was parked.
        if !fold.waits {
            try visitContentSteps(from: operation.previous, after: row.syncedSequence) { step in
                fold.add(step)
                return true
            }
        }
        _ = try fold.add(operation)
        return fold
    }

    /// Counts what waits: reads what every commit keeps up, and counts all rows if a program has
    /// written that does not.
    ///
    /// Of entities that the selection narrows by a predicate it looks at operations from the outbox's
    /// floor on, ``OutboxCounts/examinedMax`` at most.
    /// - Parameter fromStart: Whether operations before the outbox's floor may be selected too.
    package func countOutbox(
        selection: BoundSelection = BoundSelection(), fromStart: Bool = false
    ) throws -> OutboxCounts {
        let tally = try outboxTally
        var counts = OutboxCounts()
        counts.conflicts = tally.conflicts
        var narrowedRecords = 0
        for (entity, found) in tally.entities {
            counts.parkedRecords += found.parkedRecords
            counts.parkedOperations += found.parkedOperations
            if selection.excluded.contains(entity) {
                counts.heldBackRecords += found.pendingRecords
            } else if selection.filters[entity] != nil {
                narrowedRecords += found.pendingRecords
            } else {
                counts.pendingRecords += found.pendingRecords
                counts.pendingOperations += found.pendingOperations
            }
        }
        if narrowedRecords > 0 {
            try countNarrowed(
                narrowedRecords, by: selection, from: fromStart ? 1 : outboxFloor + 1, &counts)
        }
        return counts
    }

    /// Tells pending records from those that are held back, of entities with a predicate.
    ///
    /// - Parameter total: How many of their records have operations and are not parked.
    private func countNarrowed(
        _ total: Int, by selection: BoundSelection, from first: UInt64,
        _ counts: inout OutboxCounts
    ) throws {
        var seen: Set<RecordPlace> = []
        var (pending, operations, heldBack) = (0, 0, 0)
        var examined = 0
        try visitOperations(from: first) { operation in
            guard examined < OutboxCounts.examinedMax, seen.count < total else { return false }
            examined += 1
            guard operation.kind.changesContent, selection.filters[operation.entity] != nil,
                let row = try row(operation.entity, keyBytes: operation.keyBytes), row.isDirty,
                !row.flags.contains(.isParked)
            else { return true }
            let place = RecordPlace(entity: operation.entity, key: try operation.key)
            guard seen.insert(place).inserted else { return true }
            if try isHeldBack(place, row, by: selection) {
                heldBack += 1
            } else {
                let count = try unsyncedCount(
                    from: row.lastSequence, after: row.syncedSequence)
                pending += 1
                operations += count
                examined += count
            }
            return true
        }
        counts.pendingRecords += pending
        counts.pendingOperations += operations
        // Whatever is to be pushed has an operation behind the floor.
        if examined < OutboxCounts.examinedMax { heldBack = total - pending }
        counts.heldBackRecords += heldBack
        counts.unexaminedRecords = total - pending - heldBack
    }
}

/// A fold that is under way.
private struct PendingFold {
    /// What the place of a record takes in memory, roughly.
    static let placeByteCount = 256
    /// What a record takes in memory besides its fields, with the modification that is made of it.
    private static let recordByteCount = 2_048

    let place: RecordPlace
    let changeTag: String
    let modifiedMilliseconds: Int64
    /// Whether it is parked or held back.
    let waits: Bool
    /// The fields that are not pushed.
    let unsent: Set<FieldID>
    private(set) var fold = RecordFold()
    /// The bytes that it takes in memory, roughly.
    private(set) var byteCount = Self.recordByteCount

    init(
        place: RecordPlace, changeTag: String, modifiedMilliseconds: Int64, waits: Bool,
        unsent: Set<FieldID>
    ) {
        self.place = place
        self.changeTag = changeTag
        self.modifiedMilliseconds = modifiedMilliseconds
        self.waits = waits
        self.unsent = unsent
    }

    mutating func add(_ step: OperationStep) {
        guard !waits else { return }
        fold.add(step.without(unsent))
        byteCount = Self.recordByteCount + fold.byteCount
    }

    /// - Returns: by how many bytes the fold grew.
    mutating func add(_ operation: OperationView) throws -> Int {
        guard !waits else { return 0 }
        let before = byteCount
        add(try OperationStep(operation))
        return byteCount - before
    }
}
