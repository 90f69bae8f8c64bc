import BackstitchCore
import BackstitchLog

/// How far the work in the background has come: the next entity, and the record in it.
struct SchemaWorkPlace: Equatable {
    var entity: EntityNumber
    var key: RecordKey?

    init(entity: EntityNumber, key: RecordKey?) {
        self.entity = entity
        self.key = key
    }

    /// The stored form: the entity's number, big-endian, then the record key.
    var bytes: [UInt8] {
        [UInt8(entity.rawValue >> 8), UInt8(truncatingIfNeeded: entity.rawValue)]
            + (key?.bytes ?? [])
    }

    /// Reads the stored form; nil for other bytes, so that the work begins anew.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 2 else { return nil }
        entity = EntityNumber(UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
        if bytes.count > 2 {
            guard
                let key = unsafe bytes.dropFirst(2).withUnsafeBytes({
                    unsafe RecordKey(reading: $0)
                })
            else {
                return nil
            }
            self.key = key
        }
    }
}

/// Decides how many records a commit in the background works on.
///
/// Many at once make an index three times as fast as a few hundred do, because each of its pages is
/// written less often; but writers wait for the commit.
struct SchemaWorkPace: Equatable {
    /// The records of the first commit, and the fewest of any.
    static let recordsMin = 256
    /// The most; `StoredBody.bytesMax` bounds their copies.
    static let recordsMax = 65_536
    /// A commit that takes longer is followed by a smaller one; of one that takes a quarter there will be more.
    static let millisecondsMax: Int64 = 100

    private(set) var records = recordsMin

    /// Notes how long a commit took, and the wait for those before it.
    mutating func note(milliseconds: Int64) {
        if milliseconds > Self.millisecondsMax {
            records = max(records / 2, Self.recordsMin)
        } else if milliseconds <= Self.millisecondsMax / 4 {
            records = min(records * 2, Self.recordsMax)
        }
    }
}

extension CatalogEntity {
    /// Whether indexes of the entity are being built, or its records are to be examined.
    var hasWork: Bool {
        needsExamination == true || attributes.contains { $0.isBuilding == true }
            || indexes?.contains { $0.isBuilding == true } == true
    }
}

/// What a new schema leaves to be done in the background: indexes to build, records to examine.
struct SchemaWork {
    private let log: LogWriter
    private var reader: TableReader { log.reader }
    private var catalog: CatalogSnapshot { log.catalog }

    init(_ log: LogWriter) { self.log = log }

    /// The number of records of entities that have work.
    static func countRecords(_ reader: TableReader) throws -> Int {
        var count = 0
        for entity in reader.catalog.catalog.entities where entity.hasWork {
            try unsafe reader.visitStoredRows(of: entity.number) { _, row in
                if !row.isDeleted { count += 1 }
                return true
            }
        }
        return count
    }

    /// Has the records examined again of which some could not be marked the last time.
    func resumeExamination() throws {
        for entity in catalog.catalog.entities
        where entity.hasUnexamined == true && !entity.hasWork {
            try log.catalogChanges.beginExamination(of: entity.number)
        }
    }

    /// Builds indexes and examines records a bit further.
    ///
    /// - Parameter limit: The most records to work on.
    /// - Returns: the number of records worked on; nil if nothing is left to do.
    func goOn(limit: Int) throws -> Int? {
        guard let entity = catalog.catalog.entities.first(where: \.hasWork),
            let table = catalog.table(entity.number)
        else { return nil }
        let stored = try reader.meta.value(MetaName.schemaWork).flatMap { SchemaWorkPlace($0) }
        let last = stored?.entity == entity.number ? stored?.key : nil
        if last == nil, entity.hasUnexamined == true {
            try log.catalogChanges.noteUnexamined(of: entity.number, nil)
        }
        let chunk = try StoredBody.live(
            of: entity.number, after: last, limit: limit, reader)
        let building = entity.attributes.filter { $0.isBuilding == true }
        let compounds = table.indexes.filter { $0.index.isBuilding == true }
        try log.withProjector { projector in
            for body in chunk {
                try unsafe body.withFields {
                    try unsafe projector.putIndexes(of: building, $1, keyBytes: $0, in: table)
                    try unsafe projector.putCompounds(of: compounds, $1, keyBytes: $0, in: table)
                }
            }
        }
        if entity.needsExamination == true {
            for body in chunk { try examine(body, in: table) }
        }
        if let key = chunk.last?.key {
            let place = SchemaWorkPlace(entity: entity.number, key: key)
            try log.setMeta(MetaName.schemaWork, place.bytes)
        } else {
            try log.deleteMeta(MetaName.schemaWork)
            try log.catalogChanges.endSchemaWork(of: entity.number)
        }
        return chunk.count
    }

    /// Notes in the log if the schema can read a record that it could not, or the reverse, and what
    /// values are whose type a version before this one did not know.
    private func examine(_ body: StoredBody, in table: EntityTable) throws {
        var isUnreadable = try unsafe !body.withFields { try table.canRead($1) }
        var (fields, learned) = (Fields(), Fields())
        // A value of an unknown type is one that can't be read.
        if isUnreadable {
            fields = try unsafe body.withFields { try Fields($1) }
            learned = self.learned(fields, table, zone: body.key.zone)
            var current = fields
            current.overlay(learned)
            isUnreadable = !table.canRead(current)
        }
        guard isUnreadable != body.flags.contains(.isUnreadable) || !learned.isEmpty else { return }
        guard body.flags.isDisjoint(with: [.isParked, .isForgotten]) else {
            // An update would take these marks away. Reads go on asking the rows of the entity.
            return try log.catalogChanges.noteUnexamined(of: table.number)
        }
        guard let row = try log.row(table.number, body.key) else { return }
        // An update that the service need not hear of: with the stamp of the base it is as synced as
        // the record is.
        let isSynced = !row.isDirty && row.hasChangeTag
        let stamp = SyncStamp(
            changeTag: row.changeTag, modifiedMilliseconds: row.modifiedMilliseconds,
            acknowledgedThrough: row.syncedSequence)
        log.fields.reset()
        for (field, value) in learned {
            try log.fields.before.write(fields.value(field), of: field)
            try log.fields.after.write(value, of: field)
        }
        try log.appendUpdate(
            origin: isSynced ? .remote : .local, entity: table.number, key: body.key,
            previous: row.lastSequence, flags: isUnreadable ? .isUnreadable : [],
            stamp: isSynced ? stamp : nil)
    }

    /// The values of declared attributes that are stored as ones of an unknown type, if it is known
    /// by now.
    private func learned(_ fields: Fields, _ table: EntityTable, zone: UInt8) -> Fields {
        var learned = Fields()
        for (field, value) in fields {
            let position = Int(field.rawValue) - 1
            guard case .unknown(let unknown) = value, table.stored.indices.contains(position)
            else { continue }
            let attribute = table.stored[position]
            guard attribute.isDeclared else { continue }
            let (typed, fits) = ServiceMapping.storedValue(
                .unknown(unknown), of: attribute.schema, zone: zone)
            if fits, typed != value { learned[field] = typed }
        }
        return learned
    }
}
