import BackstitchCore
package import BackstitchLog

/// Folds unsynced operations of a zone per record to what has to be pushed.
package struct OutboxFolder {
    private let reader: TableReader
    /// What is not held back.
    private let selection: BoundSelection
    /// The slot of the zone.
    private let zone: UInt8

    package init(
        _ reader: TableReader, selection: BoundSelection = BoundSelection(), zone: UInt8 = 0
    ) {
        self.reader = reader
        self.selection = selection
        self.zone = zone
    }

    /// The folders of all zones that have records here, the store's own first.
    func forAllZones() throws -> [OutboxFolder] {
        try ZoneRows(reader).slots().map { OutboxFolder(reader, selection: selection, zone: $0) }
    }

    /// Folds unsynced operations per record, from the oldest on.
    ///
    /// Stops after the transaction in which the number of records reaches `recordsMax`, or their
    /// bytes half of `bytesMax`, so that records saved together are pushed together if they fit.
    /// Stops within a transaction if the bytes reach three quarters of `bytesMax`, which leaves room
    /// for later edits; one record is folded whatever its size. What these records' later operations
    /// change goes along with them while the bytes allow it, as far as it needs no record that comes
    /// later: a record is pushed once, not once for every run of the log in which it was edited.
    ///
    /// - Parameters:
    ///   - start: Operations up to this sequence are left out, unless a record has later ones too.
    ///   - wholes: Records that are folded with all their operations, whatever these need; the first
    ///     of them in any case, the others while the bytes allow it.
    package func fold(
        recordsMax: Int, bytesMax: Int = .max, after start: UInt64 = 0,
        wholes: Set<StoredRecordID> = []
    ) throws -> Outbox {
        var outbox = Outbox()
        var folds: [PendingFold] = []
        // Nil marks records that have nothing to push, so that they are looked up once.
        var positions: [StoredRecordID: Int?] = [:]
        var lastTransaction: UInt64 = 0
        var byteCount = 0
        outbox.after = max(try LogHorizon(reader).outboxFloor(in: zone), start)
        outbox.through = outbox.after
        try reader.log.visit(from: outbox.through + 1) { operation in
            guard operation.zone == zone else {
                outbox.through = operation.sequence
                return true
            }
            let isNext = operation.transaction != lastTransaction
            let isHalfFull = byteCount > 0 && byteCount >= bytesMax / 2
            let isFull = byteCount > 0 && byteCount >= bytesMax - bytesMax / 4
            if isFull || isNext && (isHalfFull || folds.count >= recordsMax) {
                outbox.isComplete = false
                return false
            }
            lastTransaction = operation.transaction
            outbox.through = operation.sequence
            guard operation.kind.changesContent, !operation.isTombstone else { return true }
            let place = StoredRecordID(entity: operation.entity, key: try operation.key)
            if let known = positions[place] {
                guard let position = known else { return true }
                byteCount += try folds[position].add(operation)
                return true
            }
            guard let fold = try startFold(operation, place) else {
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
        let missed = try UnmergedVersions(reader, in: zone)
        outbox.changes = try folds.compactMap { fold in
            guard let table = reader.catalog.table(fold.place.entity) else { return nil }
            let push = try push(of: fold)
            return PendingChange(
                entity: fold.place.entity, entityName: table.name, key: fold.place.key,
                push: push, through: fold.fold.lastSequence, changeTag: fold.changeTag,
                isAnew: fold.fold.isAnew,
                modifiedMilliseconds: min(
                    fold.modifiedMilliseconds, try missed.milliseconds(of: fold.place.key)),
                deferred: isComplete
                    ? [] : try laterTargets(of: push, in: table, after: through))
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
        guard let table = reader.catalog.table(fold.place.entity),
            let row = try reader.row(fold.place.entity, fold.place.key),
            row.lastSequence > fold.fold.lastSequence
        else { return 0 }
        let before = fold.byteCount
        let start = fold.fold.lastSequence
        try reader.history(of: row).visitSteps(after: start) { step in
            if try waits(table, step) { return false }
            fold.add(step)
            return true
        }
        return fold.byteCount - before
    }

    /// The references of a create to records that the service does not have and that come later in
    /// the log, so that a later pass pushes them.
    private func laterTargets(
        of push: RecordFold.Push, in table: EntityTable, after through: UInt64
    ) throws -> Set<String> {
        guard case .create(let fields) = push else { return [] }
        var names: Set<String> = []
        for attribute in table.denyingReferences {
            guard case .reference(let key) = fields.value(attribute.field),
                let reference = attribute.schema?.reference,
                let target = reader.catalog.table(named: reference.target)?.number,
                let row = try reader.row(target, key), !row.isDeleted, !row.hasChangeTag,
                !row.flags.contains(.isParked), row.lastSequence > through,
                try !selection.holdsBack(StoredRecordID(entity: target, key: key), row, reader)
            else { continue }
            if try reader.history(of: row).firstUnsynced ?? .max > through {
                names.insert(attribute.name)
            }
        }
        return names
    }

    /// Whether a change may be refused before other records are pushed: a delete, before references
    /// to the record are gone, and a reference that needs a record which the service does not have.
    private func needsLater(
        _ step: OperationStep, in table: EntityTable, isFolded: (StoredRecordID) -> Bool
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
                let target = reader.catalog.table(named: reference.target)?.number,
                !isFolded(StoredRecordID(entity: target, key: key)),
                let row = try reader.row(target, key)
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
            guard let row = try reader.row(fold.place.entity, fold.place.key),
                let fields = try reader.history(of: row).fields(
                    after: fold.fold.lastSequence, undoneFrom: row.currentFields)
            else { return .nothing }
            return .create(fields.without(fold.unsent).withoutNulls)
        case .delete where fold.changeTag.isEmpty:
            return .nothing
        case let push:
            return push
        }
    }

    private func startFold(
        _ operation: OperationView, _ place: StoredRecordID
    ) throws -> PendingFold? {
        guard let row = try reader.row(place.entity, place.key),
            try reader.history(of: row).isOfThisLife(operation.sequence)
        else { return nil }
        var fold = PendingFold(
            place: place, changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds,
            waits: try row.flags.contains(.isParked)
                || selection.holdsBack(place, row, reader),
            unsent: reader.catalog.table(place.entity)?.unsentFields ?? [])
        // The floor may lie behind the first unsynced operation of a record that was parked.
        if !fold.waits {
            let earlier = RecordHistory(reader, lastSequence: operation.previous)
            try earlier.visitSteps(after: row.syncedSequence) { step in
                fold.add(step)
                return true
            }
        }
        _ = try fold.add(operation)
        return fold
    }
}

/// A fold that is under way.
private struct PendingFold {
    /// What the place of a record takes in memory, roughly.
    static let placeByteCount = 256
    /// What a record takes in memory besides its fields, with the modification that is made of it.
    private static let recordByteCount = 2_048

    let place: StoredRecordID
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
        place: StoredRecordID, changeTag: String, modifiedMilliseconds: Int64, waits: Bool,
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
