import BackstitchCore
import BackstitchLog
import BackstitchStore
import LMDB

/// What is intact of a damaged store, collected in a temporary place as an inspection shows it.
struct SalvageSource {
    /// The databases of the temporary place.
    enum Place {
        static let names = ["operations", "records", "rows", "parked", "meta"]
        /// Sequence: operation.
        static let operations = 0
        /// Entity (2), record key, sequence: one byte, whether it may be an old copy.
        static let records = 1
        /// Entity (2), record key: one byte, whether it may be an old copy; row.
        static let rows = 2
        /// Entity (2), record key: the value of its entry among the parked records.
        static let parked = 3
        /// Name: value.
        static let meta = 4
    }

    let access: Access
    let databases: [Database]
    /// The last sequence that anything intact speaks of.
    private(set) var lastSequence: UInt64 = 0
    /// Catalogs on pages that nothing refers to.
    private(set) var looseCatalogs: [[UInt8]] = []
    /// What is damaged in the log, by sequence if that is known.
    private(set) var areRowsWhole = true
    /// Up to where operations of loose pages count: later ones may never have been committed.
    private var looseMax: UInt64 = 0
    private static let looseCatalogsMax = 16
    /// The greatest number of an entity that anything intact speaks of.
    private var entityMax: UInt16 = 0
    /// The entity of the row of a loose page that was added last.
    private var lastLooseEntity: UInt16 = 1

    init(_ access: Access, in scratch: Environment) throws {
        self.access = access
        databases = try Place.names.map { try scratch.database($0) }
    }

    /// Forgets all that was collected.
    func clear() throws {
        for database in databases { try access.clear(database) }
    }

    /// Says that some of the rows are not there.
    mutating func missRows() { areRowsWhole = false }

    /// Lets operations of loose pages count only as far as the rest of the store goes.
    mutating func boundLoosePages(to last: UInt64) { looseMax = max(lastSequence, last) }

    /// Lets all operations of loose pages count, because the last commit is not known.
    mutating func trustLoosePages() { looseMax = .max }

    mutating func add(_ entry: FileEntry) throws {
        let isLoose = entry.place == .loosePage
        switch entry.database {
        case Databases.logIndex: try addOperation(entry, isLoose: false)
        case Databases.tablesIndex: try addTableEntry(entry)
        case Databases.metaIndex:
            if !entry.isOfView { try unsafe put(entry.key, entry.value, in: Place.meta) }
        case nil where isLoose:
            if unsafe entry.key.count == 8 { try addOperation(entry, isLoose: true) }
            try addLooseRow(entry)
            addCatalog(entry)
        case let place?:
            guard let entity = Databases.entity(ofDatabase: place) else { return }
            entityMax = max(entityMax, entity.rawValue)
            try unsafe addRow(entry, of: entity, entry.key, isLoose: false)
        case nil: break
        }
    }

    // MARK: Operations

    private mutating func addOperation(_ entry: FileEntry, isLoose: Bool) throws {
        guard unsafe entry.key.count == 8 else { return }
        let sequence = unsafe entry.key.sequence
        guard sequence > 0, sequence < .max,
            let operation = try? unsafe OperationView(entry.value, sequence: sequence),
            unsafe operation.keyBytes.isRecordKey
        else { return }
        entityMax = max(entityMax, min(operation.entity.rawValue, UInt16(Catalog.numberMax)))
        var key = ByteBuffer()
        key.append(big: operation.entity.rawValue)
        unsafe key.append(operation.keyBytes)
        key.append(big: sequence)
        if isLoose {
            guard sequence <= looseMax else { return }
            if let known = try unsafe get(entry.key, in: Place.operations) {
                guard try unsafe get(key.bytes, in: Place.records)?.first == 1,
                    let other = try? unsafe OperationView(
                        known, sequence: sequence, verifies: false),
                    operation.isLater(than: other)
                else { return }
            }
        }
        lastSequence = max(lastSequence, sequence)
        try unsafe put(entry.key, entry.value, in: Place.operations)
        try unsafe [isLoose ? 1 : 0].withUnsafeBytes {
            try unsafe put(key.bytes, $0, in: Place.records)
        }
    }

    // MARK: Tables

    private mutating func addTableEntry(_ entry: FileEntry) throws {
        switch unsafe entry.key.first {
        case TableKey.parked where unsafe entry.place == .tree && entry.value.count >= 8:
            let key = unsafe entry.key.part(1..<entry.key.count)
            try unsafe put(key, entry.value, in: Place.parked)
            lastSequence = unsafe max(lastSequence, entry.value.part(0..<8).sequence)
        case TableKey.journal where unsafe entry.place == .tree && entry.key.count == 9:
            lastSequence = unsafe max(lastSequence, entry.key.part(1..<9).sequence)
        default: break
        }
    }

    /// Adds a row of a page that nothing refers to. Its key does not say of which entity it is; the
    /// checksum does.
    private mutating func addLooseRow(_ entry: FileEntry) throws {
        guard unsafe entry.key.isRecordKey, let row = unsafe RowView(entry.value), row.isChecked
        else { return }
        // Rows of one entity lie together.
        let numbers = [lastLooseEntity] + Array(1...max(1, entityMax))
        guard
            let number = numbers.first(where: {
                unsafe row.isIntact(of: EntityNumber($0), entry.key)
            })
        else { return }
        lastLooseEntity = number
        try unsafe addRow(entry, of: EntityNumber(number), entry.key, isLoose: true)
    }

    private mutating func addRow(
        _ entry: FileEntry, of entity: EntityNumber, _ keyBytes: UnsafeRawBufferPointer,
        isLoose: Bool
    ) throws {
        guard unsafe keyBytes.isRecordKey, let row = unsafe RowView(entry.value),
            row.isChecked || entry.place == .tree, unsafe row.isIntact(of: entity, keyBytes),
            row.isWellFormed, row.lastSequence < .max
        else {
            if !isLoose { areRowsWhole = false }
            return
        }
        if isLoose, row.lastSequence > looseMax { return }
        var buffer = ByteBuffer(capacity: 300)
        buffer.append(big: entity.rawValue)
        unsafe buffer.append(keyBytes)
        let key = unsafe buffer.bytes
        if isLoose, let known = try unsafe get(key, in: Place.rows),
            let other = unsafe RowView(known.part(1..<known.count)),
            unsafe known[0] == 0 || other.lastSequence > row.lastSequence
                || (other.lastSequence == row.lastSequence
                    && other.syncedSequence >= row.syncedSequence)
        {
            return
        }
        lastSequence = max(lastSequence, row.lastSequence)
        let isOld = isLoose || entry.place == .journal
        var value = unsafe ByteBuffer(capacity: row.bytes.count + 1)
        value.append(isOld ? 1 : 0)
        unsafe value.append(row.bytes)
        try unsafe put(key, value.bytes, in: Place.rows)
    }

    // MARK: Meta

    private mutating func addCatalog(_ entry: FileEntry) {
        guard looseCatalogs.count < Self.looseCatalogsMax,
            [MetaName.catalog, MetaName.catalogCopy].contains(where: {
                unsafe entry.key.elementsEqual($0.utf8)
            }),
            unsafe (try? CatalogCoding.decode(Array(entry.value))) != nil
        else { return }
        unsafe looseCatalogs.append(Array(entry.value))
    }

    private func put(
        _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, in place: Int
    ) throws {
        guard (1...511).contains(key.count) else { return }
        try unsafe access.put(key, value, in: databases[place])
    }

    private func get(
        _ key: UnsafeRawBufferPointer, in place: Int
    ) throws -> UnsafeRawBufferPointer? {
        try unsafe access.get(key, in: databases[place])
    }
}

extension OperationView {
    /// Whether the operation is surely of a later time than another one at its place: compaction
    /// writes baselines and journals there, and baselines again.
    fileprivate func isLater(than other: OperationView) -> Bool {
        guard let row = baseline?.row, kind == .baseline else {
            return kind == .journal && other.kind != .journal && other.kind != .baseline
        }
        guard other.kind == .baseline, let old = other.baseline?.row else { return true }
        return row.syncedSequence > old.syncedSequence
    }
}

extension FileEntry {
    /// Whether the entry of the meta database belongs to a view or says how far one came: views are
    /// built anew after a repair.
    fileprivate var isOfView: Bool {
        let name = unsafe String(decoding: key, as: UTF8.self)
        return unsafe ViewEntries.isEntry(key) || name.hasPrefix(MetaName.projectionPrefix)
            || name.hasPrefix(MetaChecksum.name(of: MetaName.projectionPrefix))
    }
}
