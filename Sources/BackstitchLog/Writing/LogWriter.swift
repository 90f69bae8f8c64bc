package import BackstitchCore
package import LMDB

/// Appends operations to the log and lets the tables follow it.
///
/// Shared by the writes of one commit; lives on the writer thread for the length of one attempt at it.
package final class LogWriter {
    /// What the operations of a log are stamped with, and how many a write may have.
    package struct Settings: Sendable {
        /// Who writes, unless a write says so.
        package var author: String
        /// The wall clock, in milliseconds since 1970.
        package var milliseconds: @Sendable () -> Int64
        /// The most operations of a bounded write, and the most bytes of them.
        package var operationsPerWriteMax: Int
        package var bytesPerWriteMax: Int
        /// Nil if records that are too large for the service are not reported.
        package var recordLimit: RecordSizeLimit?

        package init(
            author: String, milliseconds: @escaping @Sendable () -> Int64,
            operationsPerWriteMax: Int, bytesPerWriteMax: Int, recordLimit: RecordSizeLimit?
        ) {
            self.author = author
            self.milliseconds = milliseconds
            self.operationsPerWriteMax = operationsPerWriteMax
            self.bytesPerWriteMax = bytesPerWriteMax
            self.recordLimit = recordLimit
        }
    }

    package let access: Access
    package let databases: Databases
    package let settings: Settings
    /// The catalog, and what the commit changes in it.
    package var catalogChanges: CatalogChanges
    package var catalog: CatalogSnapshot { catalogChanges.snapshot }
    private var progress: CommitProgress
    /// The sequence of the last operation.
    package var head: UInt64 { progress.head }
    /// The clock of the last operation.
    package var clock: UInt64 { progress.clock }
    private let headBefore: UInt64
    /// The operations that the commit has appended so far.
    package var appendedCount: Int { Int(head - headBefore) }
    private var projector: Projector
    /// What waited to be pushed before the commit.
    private let countingBefore: OutboxCounting
    private var operationBuffer = ByteBuffer(capacity: 4096)

    /// Whether there are notes of a kind, as far as that was looked up.
    var haveNotes: [ZoneNotes: Bool] = [:]

    // The write that is running now.
    package var transaction: UInt64 { progress.transaction }
    package private(set) var changes = ChangeSet()
    package var author: String
    /// What the running write is for; its first operation carries it.
    private var purpose = ""
    /// Whether what the running write saves stays on this device.
    package private(set) var isLocalOnly = false
    /// Whether the running write removes operations that are not needed any more.
    package var compacts = false
    /// Whether the running write takes less space than it frees, sooner or later.
    package var freesSpace: Bool { compacts || changes.onlyDeletes }
    package var operationCount: Int { progress.operationCount }
    /// How many records of each entity the running write made larger than the service takes.
    package var largeRecords: [String: Int] { progress.largeRecords }
    /// Whether the configuration bounds the operations of the running write.
    private var isBounded = false
    /// Whether the write changed anything otherwise than by operations.
    package var hasWrittenDirectly = false
    /// Why an operation was applied in part. The write can't be kept then, even if its closure
    /// goes on.
    package var failure: (any Error)? { progress.failure }
    /// Whether leaving the write out needs the whole transaction to be given up.
    package var hasWritten: Bool {
        access.changeCount != changesBefore || catalogChanges.count != catalogChangesBefore
            || hasWrittenDirectly || failure != nil
    }
    /// The changes of the transaction and of the catalog before the running write.
    private var changesBefore = 0
    private var catalogChangesBefore = 0
    /// The fields of the record that is being written.
    package var fields = FieldChanges()
    private var rowCopy = ByteBuffer(capacity: 1024)
    /// The row that was read last, and the changes of the transaction before.
    private var lastRead: (place: StoredRecordID, row: RowView?, changeCount: Int)?
    /// Called with each operation once the tables have it.
    package var onAppend: ((OperationView) throws -> Void)?
    /// Called with each file that a local operation names, before the tables have the operation; an
    /// error refuses it.
    package var checkAsset: ((Asset) throws -> Void)?

    package init(
        access: Access, databases: Databases, settings: Settings, catalog: CatalogSnapshot
    ) throws {
        self.access = access
        self.databases = databases
        self.settings = settings
        catalogChanges = CatalogChanges(catalog)
        author = settings.author
        projector = Projector(access: access, databases: databases)
        progress = try access.withCursor(in: databases.log) { cursor in
            guard try cursor.last() else { return CommitProgress(head: 0, clock: 0) }
            let sequence = unsafe cursor.key.sequence
            return unsafe CommitProgress(
                head: sequence, clock: try OperationView(cursor.value, sequence: sequence).clock)
        }
        headBefore = progress.head
        let reader = TableReader(access: access, databases: databases, catalog: catalog)
        countingBefore = try OutboxCounter(reader).counting(at: progress.head)
        projector.counting = countingBefore
    }

    package var reader: TableReader {
        TableReader(access: access, databases: databases, catalog: catalog, checksRows: true)
    }

    /// The row of a record; nil if there is none.
    ///
    /// The row that was read last is not looked up again until something changes, so that an operation
    /// is applied to the row for which it was made.
    package func row(_ entity: EntityNumber, _ key: RecordKey) throws -> RowView? {
        let place = StoredRecordID(entity: entity, key: key)
        if let lastRead, lastRead.changeCount == access.changeCount, lastRead.place == place {
            return lastRead.row
        }
        let row = try reader.row(entity, key)
        lastRead = (place, row, access.changeCount)
        return row
    }

    /// Starts the next write of the commit.
    package func begin(
        author: String?, context: String, isLocalOnly: Bool = false, isBounded: Bool = false
    ) {
        compacts = false
        self.isLocalOnly = isLocalOnly
        self.isBounded = isBounded
        progress.begin()
        self.author = author ?? settings.author
        purpose = context
        changes = ChangeSet(author: self.author, context: context)
        hasWrittenDirectly = false
        changesBefore = access.changeCount
        catalogChangesBefore = catalogChanges.count
    }

    // MARK: Savepoints

    /// Runs a part of the running write; if it throws, the write goes on as if the part had not run.
    ///
    /// - Throws: what the part throws, or what the database does, which spoils the commit.
    package func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        let outer = changes
        // The part has changes of its own: to copy all of them for each part would be quadratic.
        changes = ChangeSet(author: author, context: purpose)
        let before = Savepoint(self)
        do {
            let result = try access.savepoint(body)
            let inner = changes
            changes = outer
            changes.append(inner)
            return result
        } catch {
            changes = outer
            before.restore(self)
            throw error
        }
    }

    /// What the running write has come to, but for the database and the changes.
    private struct Savepoint {
        private let catalogChanges: CatalogChanges
        private let progress: CommitProgress
        private let counting: OutboxCounting?
        private let haveNotes: [ZoneNotes: Bool]

        init(_ log: LogWriter) {
            catalogChanges = log.catalogChanges
            progress = log.progress
            counting = log.projector.counting
            haveNotes = log.haveNotes
        }

        func restore(_ log: LogWriter) {
            log.catalogChanges.takeBack(to: catalogChanges)
            log.progress = progress
            log.projector.counting = counting
            log.haveNotes = haveNotes
        }
    }

    // MARK: Operations

    /// Appends an operation to the log and applies it to the tables.
    ///
    /// - Parameter payload: Appends the payload, as `OperationEncoder` has it for the kind.
    package func append(
        _ kind: OperationKind, origin: OperationOrigin, entity: EntityNumber, key: RecordKey,
        previous: UInt64, flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil,
        conflict: ConflictReport? = nil, payload: (inout ByteBuffer) throws -> Void
    ) throws {
        let origin = isLocalOnly && origin == .local ? .localOnly : origin
        if origin == .localOnly, kind.changesContent { try checkSynced(entity, key) }
        // What stays on this device is pushed too if the service loses the record.
        if origin == .local || origin == .localOnly, fields.writer.hasCrossed {
            try CrossingReferences(self).check(kind, entity, key)
        }
        do {
            try appendWhole(
                OperationHeader(
                    kind: kind, origin: origin, flags: flags, entity: entity, transaction: 0,
                    clock: 0, previous: previous, key: key, author: author),
                stamp: stamp, conflict: conflict, payload: payload)
        } catch {
            progress.failure = error
            throw error
        }
    }

    /// Refuses what stays on this device for a record whose changes are still to be pushed: what the
    /// service lacks of it could not be told from what it is not to have.
    private func checkSynced(_ entity: EntityNumber, _ key: RecordKey) throws {
        guard let row = try row(entity, key), row.isDirty else { return }
        throw StoreError(
            .unsynced,
            "The record \(key) has changes that the service does not have yet. Synchronise or "
                + "revert them before a write that stays on this device.")
    }

    private func appendWhole(
        _ header: OperationHeader, stamp: SyncStamp?, conflict: ConflictReport?,
        payload: (inout ByteBuffer) throws -> Void
    ) throws {
        guard head < .max else {
            throw StoreError(.damaged, "The log ends with an impossible sequence. Run verify.")
        }
        let sequence = head + 1
        var header = header
        if transaction == 0 {
            progress.transaction = sequence
            header.context = purpose
        }
        progress.clock = LogicalClock.next(after: clock, wallMilliseconds: settings.milliseconds())
        operationBuffer.removeAll()
        header.transaction = transaction
        header.clock = clock
        try OperationEncoder.begin(
            header, stamp: stamp, conflict: conflict, into: &operationBuffer)
        try payload(&operationBuffer)
        OperationEncoder.end(sequence: sequence, into: &operationBuffer)
        progress.byteCount += operationBuffer.count
        if isBounded { try progress.checkSize(settings) }
        let view = try unsafe OperationView(
            operationBuffer.bytes, sequence: sequence, verifies: false)
        if let checkAsset, header.origin == .local || header.origin == .localOnly {
            for asset in view.newAssets { try checkAsset(asset) }
        }
        let row = try row(header.entity, header.key)
        let rowBytesMax = unsafe (row?.bodyBytes.count ?? 0) + operationBuffer.count
        let headers = try projector.apply(view, to: row, catalog: catalog)
        try unsafe TableKey.withSequence(sequence) {
            try unsafe access.append($0, operationBuffer.bytes, in: databases.log)
        }
        if let entity = try settings.recordLimit?.entity(ofTooLarge: header, rowBytesMax, self) {
            progress.largeRecords[entity, default: 0] += 1
        }
        try projector.count(view, headers, catalog: catalog)
        try marks.endSent(of: header.key, headers)
        try onAppend?(view)
        progress.head = sequence
        progress.operationCount += 1
        changes.note(
            header.kind, origin: header.origin, entity: header.entity, key: header.key,
            sequence: sequence, isUnreadable: header.flags.contains(.isUnreadable))
    }

    /// Appends an update of the changed fields that ``fields`` has.
    package func appendUpdate(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, previous: UInt64,
        flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        try append(
            .update, origin: origin, entity: entity, key: key, previous: previous, flags: flags,
            stamp: stamp, conflict: conflict
        ) { fields.appendUpdate(to: &$0) }
    }

    /// Appends an insert of the packed fields that ``fields`` has.
    package func insertBody(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, previous: UInt64,
        flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        try append(
            .insert, origin: origin, entity: entity, key: key, previous: previous, flags: flags,
            stamp: stamp, conflict: conflict
        ) { unsafe $0.append(fields.body.bytes) }
    }

    /// Appends a delete with the full before image.
    package func appendDelete(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, row: RowView,
        stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        let previous = row.lastSequence
        rowCopy.removeAll()
        unsafe rowCopy.append(row.bodyBytes)
        try append(
            .delete, origin: origin, entity: entity, key: key, previous: previous, stamp: stamp,
            conflict: conflict
        ) { unsafe $0.append(rowCopy.bytes) }
    }

    /// What the running write has changed so far, with the names of entities.
    package var namedChanges: ChangeSet {
        var named = changes
        named.name(by: catalog)
        return named
    }

    // MARK: Counts

    /// What waits to be pushed; nil if that is still being counted.
    var tally: OutboxTally? { isCountingOutbox ? nil : projector.counting?.tally }

    /// Whether rows are left that are to be counted.
    package var isCountingOutbox: Bool { projector.counting?.isComplete == false }

    /// Counts everything that waits again, from the tables.
    package func recountOutbox() throws {
        var counting = OutboxCounting(
            sequence: head, position: [], countsRecords: try !LogHorizon(reader).maySync)
        try OutboxCounter(reader).goOn(&counting, budget: .max)
        projector.counting = counting
    }

    /// Stores what waits to be pushed; goes on with counting it where that was never done.
    package func noteOutboxCounts() throws {
        guard var counting = projector.counting else { return }
        do {
            try OutboxCounter(reader).goOn(&counting, budget: OutboxCounting.workPerCommit)
        } catch let error as LMDBError {
            throw error
        } catch {
            // As if an operation can't be counted.
            projector.counting = nil
            return
        }
        counting.sequence = head
        projector.counting = counting
        if counting != countingBefore { try setMeta(MetaName.outboxCounts, counting.bytes) }
    }

    /// Changes tables otherwise than by an operation; for entries that follow from rows and catalog.
    package func withProjector(_ body: (inout Projector) throws -> Void) throws {
        hasWrittenDirectly = true
        try body(&projector)
    }

    // MARK: Meta

    package func setMeta(_ name: String, _ value: [UInt8]) throws {
        hasWrittenDirectly = true
        try access.putMeta(name, value, databases)
    }

    package func deleteMeta(_ name: String) throws {
        hasWrittenDirectly = true
        try access.deleteMeta(name, databases)
    }

    /// Writes what is shared by the writes of a commit, once they have all run.
    package func finish() throws {
        try noteOutboxCounts()
        if catalogChanges.isPending {
            try setCatalog(catalog.catalog)
        }
    }

    /// Stores a catalog, and makes the trees for the rows of its entities.
    package func setCatalog(_ catalog: Catalog) throws {
        hasWrittenDirectly = true
        try access.putCatalog(catalog, databases)
    }
}
