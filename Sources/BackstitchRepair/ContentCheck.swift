import BackstitchCore
import BackstitchLog
import BackstitchStore
import LMDB

/// Checks the entries of a data file one by one, as an inspection shows them.
struct ContentCheck {
    private(set) var diagnosis = StoreDiagnosis()
    private var expected: UInt64 = 1
    /// Where operations are missing, the last ones first dropped when there are too many.
    private var gaps: [ClosedRange<UInt64>] = []
    private var meta: [String: [UInt8]] = [:]
    /// Whether an operation is damaged or missing.
    private(set) var isLogDamaged = false
    /// Whether a row is.
    private(set) var areRowsDamaged = false
    /// The catalog; nil if it can't be read.
    private(set) var catalog: Catalog?
    /// The failure if the catalog is intact and of a newer format.
    private(set) var newerFormat: StoreError?
    /// The last operation that an intact row names.
    private var lastOfRows: UInt64 = 0

    private static let gapsMax = 10_000

    mutating func add(_ entry: FileEntry) {
        guard entry.place == .tree || entry.place == .damagedPage else { return }
        switch entry.database {
        case Databases.logIndex: addOperation(entry)
        case Databases.metaIndex: addMeta(entry)
        case let place?:
            guard let entity = Databases.entity(ofDatabase: place) else { return }
            unsafe addRow(entry, of: entity, entry.key)
        case nil: break
        }
    }

    private mutating func addOperation(_ entry: FileEntry) {
        guard unsafe entry.key.count == 8 else {
            isLogDamaged = true
            return diagnosis.note(.log, "The log has a key that is no sequence.")
        }
        let sequence = unsafe entry.key.sequence
        diagnosis.operations += 1
        if sequence > expected {
            if gaps.count == Self.gapsMax { gaps.removeFirst() }
            gaps.append(expected...sequence - 1)
        }
        expected = max(expected, sequence &+ 1)
        do throws(OperationDamage) {
            _ = try unsafe OperationView(entry.value, sequence: sequence)
        } catch {
            isLogDamaged = true
            diagnosis.note(.log, "Operation \(sequence): \(error).")
        }
    }

    private mutating func addRow(
        _ entry: FileEntry, of entity: EntityNumber, _ key: UnsafeRawBufferPointer
    ) {
        diagnosis.rows += 1
        guard unsafe key.isRecordKey, let row = unsafe RowView(entry.value),
            unsafe row.isIntact(of: entity, key),
            row.isWellFormed
        else {
            areRowsDamaged = true
            let name =
                unsafe key.isRecordKey
                ? RecordKey(reading: key).map { "'\($0)' of entity \(entity.rawValue)" } : nil
            return diagnosis.note(
                .tables, "A row is damaged: \(name ?? "its key is no record's").")
        }
        if row.isChecked { lastOfRows = max(lastOfRows, row.lastSequence) }
    }

    private mutating func addMeta(_ entry: FileEntry) {
        if unsafe ViewEntries.isEntry(entry.key) { return }
        let name = unsafe String(decoding: entry.key, as: UTF8.self)
        if !SyncNotes.isMark(name) { meta[name] = unsafe Array(entry.value) }
    }

    /// Ends the check, once all entries were shown.
    mutating func finish() {
        for (name, value) in meta.sorted(by: { $0.key < $1.key })
        where !name.hasPrefix(MetaChecksum.prefix) {
            let checksum = meta[MetaChecksum.name(of: name)]
            if !MetaChecksum.matches(value, named: name, checksum) {
                diagnosis.note(
                    .meta, "What is kept under '\(name)' is damaged: its checksum does not match.")
            }
        }
        for name in meta.keys.sorted() where name.hasPrefix(MetaChecksum.prefix) {
            if meta[String(name.dropFirst(MetaChecksum.prefix.count))] == nil {
                diagnosis.note(.meta, "What belongs to the checksum '\(name)' is missing.")
            }
        }
        checkCatalog()
        checkGaps()
    }

    private mutating func checkCatalog() {
        guard let bytes = meta[MetaName.catalog] else {
            return diagnosis.note(.meta, "The catalog is missing.")
        }
        let checksum = meta[MetaChecksum.name(of: MetaName.catalog)]
        do {
            catalog = try CatalogCoding.decode(bytes)
        } catch let error as StoreError
            where error.code == .newerFormat
            && MetaChecksum.matches(bytes, named: MetaName.catalog, checksum)
        {
            newerFormat = error
        } catch {
            diagnosis.note(.meta, "The catalog can't be read.")
        }
    }

    /// Notes the trees of rows that are not there, once the check has finished.
    ///
    /// - Parameter isThere: Whether there is a database with a name.
    mutating func checkTrees(_ isThere: (String) -> Bool) {
        guard let catalog else { return }
        for entity in catalog.entities
        where !isThere(Databases.rows.name(of: Int(entity.number.rawValue))) {
            areRowsDamaged = true
            diagnosis.note(
                .tables, "The tree of rows of entity \(entity.number.rawValue) is missing.")
        }
    }

    private mutating func checkGaps() {
        let through =
            meta[MetaName.compaction].flatMap { CompactionBounds($0) }?.through ?? 0
        if through > 0, expected <= through + 1 {
            isLogDamaged = true
            diagnosis.note(.log, "Operation \(through + 1) is missing: the log ends before it.")
        }
        if lastOfRows >= expected {
            isLogDamaged = true
            diagnosis.note(
                .log,
                "The log ends with operation \(expected - 1), and a row is of operation "
                    + "\(lastOfRows).")
        }
        for gap in gaps where gap.upperBound > through {
            isLogDamaged = true
            let first = max(gap.lowerBound, through + 1)
            diagnosis.note(
                .log,
                first == gap.upperBound
                    ? "Operation \(first) is missing."
                    : "Operations \(first) to \(gap.upperBound) are missing.")
        }
    }

}

extension UnsafeRawBufferPointer {
    /// Whether these are the bytes of a record key, to the last one.
    var isRecordKey: Bool { unsafe RecordKey(reading: self)?.byteCount == count }
}

extension RowView {
    /// Whether the fields are as they are written.
    var isWellFormed: Bool {
        unsafe isDeleted ? bodyBytes.isEmpty : fields?.isWellFormed == true
    }
}
