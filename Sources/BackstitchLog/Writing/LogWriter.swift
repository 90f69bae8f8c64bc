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

        package init(
            author: String, milliseconds: @escaping @Sendable () -> Int64,
            operationsPerWriteMax: Int, bytesPerWriteMax: Int
        ) {
            self.author = author
            self.milliseconds = milliseconds
            self.operationsPerWriteMax = operationsPerWriteMax
            self.bytesPerWriteMax = bytesPerWriteMax
        }
    }

    package let access: Access
    package let databases: Databases
    package let settings: Settings
    private(set) package var catalog: CatalogSnapshot
    package private(set) var catalogHasChanged = false
    /// How often the catalog was changed: each time costs as much as its entities.
    private(set) package var catalogChangeCount = 0
    /// The sequence of the last operation.
    private(set) package var head: UInt64
    private let headBefore: UInt64
    /// The operations that the commit has appended so far.
    package var appendedCount: Int { Int(head - headBefore) }
    package private(set) var clock: UInt64
    private var projector: Projector
    /// What waited to be pushed before the commit.
    private let countingBefore: OutboxCounting
    private var operationBuffer = ByteBuffer(capacity: 4096)

    /// Whether there are notes of a kind, as far as that was looked up.
    var haveNotes: [RecordNotes: Bool] = [:]

    // The write that is running now.
    package private(set) var transaction: UInt64 = 0
    package private(set) var changes = ChangeSet()
    package var author: String
    /// What the running write is for; its first operation carries it.
    private var purpose = ""
    /// Whether what the running write saves stays on this device.
    package private(set) var isLocalOnly = false
    /// Whether the running write removes operations that nobody needs any more.
    package var compacts = false
    /// Whether the running write takes less space than it frees, sooner or later.
    package var freesSpace: Bool { compacts || changes.onlyDeletes }
    package private(set) var operationCount = 0
    /// Whether the configuration bounds the operations of the running write.
    private var isBounded = false
    /// The bytes of the running write's operations.
    private var byteCount = 0
    /// Whether the write changed anything otherwise than by operations.
    package var hasWrittenDirectly = false
    /// Why an operation was applied in part. The write can't be kept then, even if its closure
    /// goes on.
    package private(set) var failure: (any Error)?
    /// Whether leaving the write out needs the whole transaction to be given up.
    package var hasWritten: Bool {
        access.changeCount != changesBefore || hasWrittenDirectly || failure != nil
    }
    /// The changes of the transaction before the running write.
    private var changesBefore = 0
    package var fieldWriter = _FieldWriter()
    package var bodyBuffer = ByteBuffer(capacity: 1024)
    package var beforeWriter = _FieldWriter()
    package var afterWriter = _FieldWriter()
    package var rowCopy = ByteBuffer(capacity: 1024)
    /// The row that was read last, and the changes of the transaction before.
    private var lastRead: (place: RecordPlace, row: RowView?, changeCount: Int)?
    /// Called with each operation once the tables have it.
    package var onAppend: ((OperationView) throws -> Void)?

    package init(
        access: Access, databases: Databases, settings: Settings,
        catalog: CatalogSnapshot
    ) throws {
        self.access = access
        self.databases = databases
        self.settings = settings
        self.catalog = catalog
        author = settings.author
        projector = Projector(access: access, databases: databases)
        (head, clock) = try access.withCursor(in: databases.log) { cursor in
            guard try cursor.last() else { return (0, 0) }
            let sequence = cursor.key.sequence
            return (sequence, try OperationView(cursor.value, sequence: sequence).clock)
        }
        headBefore = head
        countingBefore = try TableReader(access: access, databases: databases, catalog: catalog)
            .outboxCounting(at: head)
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
        let place = RecordPlace(entity: entity, key: key)
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
        byteCount = 0
        self.author = author ?? settings.author
        purpose = context
        transaction = 0
        changes = ChangeSet(author: self.author, context: context)
        operationCount = 0
        hasWrittenDirectly = false
        failure = nil
        changesBefore = access.changeCount
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
        private let catalog: CatalogSnapshot
        private let catalogHasChanged: Bool
        private let head: UInt64
        private let clock: UInt64
        private let counting: OutboxCounting?
        private let haveNotes: [RecordNotes: Bool]
        private let transaction: UInt64
        private let operationCount: Int
        private let byteCount: Int
        private let failure: (any Error)?

        init(_ log: LogWriter) {
            catalog = log.catalog
            catalogHasChanged = log.catalogHasChanged
            head = log.head
            clock = log.clock
            counting = log.projector.counting
            haveNotes = log.haveNotes
            transaction = log.transaction
            operationCount = log.operationCount
            byteCount = log.byteCount
            failure = log.failure
        }

        func restore(_ log: LogWriter) {
            log.catalog = catalog
            log.catalogHasChanged = catalogHasChanged
            log.head = head
            log.clock = clock
            log.projector.counting = counting
            log.haveNotes = haveNotes
            log.transaction = transaction
            log.operationCount = operationCount
            log.byteCount = byteCount
            log.failure = failure
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
        do {
            try appendWhole(
                OperationHeader(
                    kind: kind, origin: origin, flags: flags, entity: entity, transaction: 0,
                    clock: 0, previous: previous, key: key, author: author),
                stamp: stamp, conflict: conflict, payload: payload)
        } catch {
            failure = error
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
            transaction = sequence
            header.context = purpose
        }
        clock = LogicalClock.next(after: clock, wallMilliseconds: settings.milliseconds())
        operationBuffer.removeAll()
        header.transaction = transaction
        header.clock = clock
        try OperationEncoder.begin(
            header, stamp: stamp, conflict: conflict, into: &operationBuffer)
        try payload(&operationBuffer)
        OperationEncoder.end(sequence: sequence, into: &operationBuffer)
        byteCount += operationBuffer.count
        if isBounded { try checkSize() }
        let view = try OperationView(operationBuffer.bytes, sequence: sequence, verifies: false)
        let headers = try projector.apply(
            view, to: try row(header.entity, header.key), catalog: catalog)
        try TableKey.withSequence(sequence) {
            try access.append($0, operationBuffer.bytes, in: databases.log)
        }
        try projector.count(view, headers, catalog: catalog)
        try onAppend?(view)
        head = sequence
        operationCount += 1
        changes.note(
            header.kind, origin: header.origin, entity: header.entity, key: header.key,
            sequence: sequence, isUnreadable: header.flags.contains(.isUnreadable))
    }

    /// Refuses the next operation of a write that is too large already.
    private func checkSize() throws {
        let (operations, bytes) = (
            settings.operationsPerWriteMax, settings.bytesPerWriteMax
        )
        // One operation is taken whatever its size.
        guard operationCount >= max(1, operations) || operationCount > 0 && byteCount > bytes
        else { return }
        throw StoreError(
            .tooLarge,
            "A write has more than \(operations) operations or \(bytes) bytes of them, and all other "
                + "writes would wait for it. Divide it into several writes; update and delete by "
                + "query do so with inPartsOf:. Where it must be one, raise operationsPerWriteMax or "
                + "bytesPerWriteMax of the store's configuration.")
    }

    /// Appends an update from the changed fields that the writers hold.
    package func appendUpdate(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, previous: UInt64,
        flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        try append(
            .update, origin: origin, entity: entity, key: key, previous: previous, flags: flags,
            stamp: stamp, conflict: conflict
        ) { output in
            let at = output.count
            output.append(little: UInt32(0))
            beforeWriter.finish(into: &output)
            output.store(little: UInt32(output.count - at - 4), at: at)
            afterWriter.finish(into: &output)
        }
    }

    /// Appends an insert of the fields in the body buffer.
    package func insertBody(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, previous: UInt64,
        flags: OperationHeader.Flags = [], stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        try append(
            .insert, origin: origin, entity: entity, key: key, previous: previous, flags: flags,
            stamp: stamp, conflict: conflict
        ) { $0.append(bodyBuffer.bytes) }
    }

    /// Appends a delete with the full before image.
    package func appendDelete(
        origin: OperationOrigin, entity: EntityNumber, key: RecordKey, row: RowView,
        stamp: SyncStamp? = nil, conflict: ConflictReport? = nil
    ) throws {
        let previous = row.lastSequence
        rowCopy.removeAll()
        rowCopy.append(row.bodyBytes)
        try append(
            .delete, origin: origin, entity: entity, key: key, previous: previous, stamp: stamp,
            conflict: conflict
        ) { $0.append(rowCopy.bytes) }
    }

    /// Fills the two writers with the fields in which the body buffer differs from a row.
    ///
    /// - Parameter layout: Fields of the row outside of it are kept; nil keeps none.
    /// - Returns: whether there are any.
    package func compare(_ row: RowView, keepingAllBut layout: FieldLayout?) throws -> Bool {
        guard let old = row.fields, let new = PackedFields(bodyBuffer.bytes) else {
            throw StoreError(.damaged, "A row can't be read. Run rebuild to make the tables anew.")
        }
        if old.bytes.holdsSameBytes(as: new.bytes) { return false }
        guard old.isAscending, new.isAscending else { throw FieldError(.damaged) }
        beforeWriter.reset()
        afterWriter.reset()
        var oldPosition = 0
        var newPosition = 0
        while oldPosition < old.count || newPosition < new.count {
            let oldField = oldPosition < old.count ? old.field(at: oldPosition) : nil
            let newField = newPosition < new.count ? new.field(at: newPosition) : nil
            if let newField, oldField.map({ newField < $0 }) ?? true {
                try beforeWriter.write(.null, of: newField, keepsNull: true)
                try afterWriter.write(raw: try new.rawValue(at: newPosition), of: newField)
                newPosition += 1
            } else if let oldField, newField.map({ oldField < $0 }) ?? true {
                if layout?.fields.contains(oldField) ?? true {
                    try beforeWriter.write(raw: try old.rawValue(at: oldPosition), of: oldField)
                    try afterWriter.write(.null, of: oldField, keepsNull: true)
                }
                oldPosition += 1
            } else if let field = oldField {
                let before = try old.rawValue(at: oldPosition)
                let after = try new.rawValue(at: newPosition)
                if !before.holdsSameBytes(as: after) {
                    try beforeWriter.write(raw: before, of: field)
                    try afterWriter.write(raw: after, of: field)
                }
                oldPosition += 1
                newPosition += 1
            }
        }
        return !afterWriter.isEmpty
    }

    /// What the running write has changed so far, with the names of entities.
    package var namedChanges: ChangeSet {
        var named = changes
        named.name(by: catalog)
        return named
    }

    // MARK: Counts

    /// Whether rows are left that are to be counted.
    package var isCountingOutbox: Bool { projector.counting?.isComplete == false }

    /// Counts everything that waits again, from the tables.
    package func recountOutbox() throws {
        var counting = OutboxCounting(sequence: head, position: [])
        try reader.countOn(&counting, budget: .max)
        projector.counting = counting
    }

    /// Stores what waits to be pushed; goes on with counting it where that was never done.
    package func noteOutboxCounts() throws {
        guard var counting = projector.counting else { return }
        do {
            try reader.countOn(&counting, budget: OutboxCounting.workPerCommit)
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

    // MARK: The catalog

    /// The table of an entity by name, numbering it if the service delivered it for the first time.
    package func table(named name: String) throws -> EntityTable {
        if let table = catalog.table(named: name) { return table }
        return try changeCatalog { catalog in
            catalog.intern(entity: name, max: Catalog.undeclaredMax)
        }
    }

    /// Numbers the types that the service delivered for the first time, at once, as far as there are
    /// numbers for them.
    package func numberTables(named names: Set<String>) throws {
        let new = names.filter { name in
            catalog.table(named: name) == nil && (1...Catalog.nameBytesMax) ~= name.utf8.count
        }.sorted()
        let (count, room) = (catalog.tables.count, Catalog.undeclaredMax - catalog.tables.count)
        guard !new.isEmpty, room > 0 else { return }
        _ = try changeCatalog { catalog in
            catalog.add(entities: new)
            return count
        }
    }

    /// Numbers the attributes that the service delivered for the first time and no schema declares, at
    /// once, as far as there are numbers for them.
    package func numberFields(named names: [String], of table: EntityTable) throws -> EntityTable {
        guard !names.isEmpty, table.attributes.count < Catalog.undeclaredMax else { return table }
        let index = Int(table.number.rawValue) - 1
        return try changeCatalog { catalog in
            catalog.add(attributes: names, toEntityAt: index)
            return index
        }
    }

    /// The number of an attribute that the service delivered and no schema declares.
    package func field(named name: String, of table: EntityTable) throws -> (EntityTable, FieldID) {
        let index = Int(table.number.rawValue) - 1
        let changed = try changeCatalog { catalog in
            catalog.intern(attribute: name, inEntityAt: index) == nil ? nil : index
        }
        guard let attribute = changed.attribute(named: name) else {
            preconditionFailure("An attribute that was numbered is in its table.")
        }
        return (changed, attribute.field)
    }

    /// Notes that the indexes of an entity are complete and its records examined.
    package func endSchemaWork(of entity: EntityNumber) throws {
        _ = try changeCatalog { catalog in
            catalog.endWork(of: entity)
            return Int(entity.rawValue) - 1
        }
    }

    /// Notes whether records of an entity could not be marked.
    package func noteUnexamined(of entity: EntityNumber, _ hasUnexamined: Bool? = true) throws {
        let index = Int(entity.rawValue) - 1
        guard catalog.catalog.entities[index].hasUnexamined != hasUnexamined else { return }
        _ = try changeCatalog { catalog in
            catalog.noteUnexamined(ofEntityAt: index, hasUnexamined)
            return index
        }
    }

    /// Notes that the records of an entity are to be examined.
    package func beginExamination(of entity: EntityNumber) throws {
        let index = Int(entity.rawValue) - 1
        _ = try changeCatalog { catalog in
            catalog.beginExamination(ofEntityAt: index)
            return index
        }
    }

    private func changeCatalog(_ change: (inout Catalog) -> Int?) throws -> EntityTable {
        var changed = catalog.catalog
        guard let index = change(&changed) else {
            throw NumbersUsedUp()
        }
        catalog = CatalogSnapshot(changed, after: catalog, changedAt: index)
        catalogHasChanged = true
        catalogChangeCount += 1
        hasWrittenDirectly = true
        return catalog.tables[index]
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
        if catalogHasChanged {
            try setMeta(MetaName.catalog, try CatalogCoding.encode(catalog.catalog))
        }
    }
}
