import BackstitchCore
import BackstitchLog
import BackstitchStore
import Foundation
import LMDB

/// Makes a store from what is intact of a damaged one.
///
/// The new log has the operations that follow from one another, and baselines if a row or an older
/// state stands in for operations that are lost. The tables are made from it like any others.
@safe final class SalvageBuilder {
    /// What is known of the damage.
    struct Extent {
        /// Whether all operations are there.
        var isLogWhole: Bool
        /// Whether all rows are.
        var areRowsWhole: Bool
        /// The last sequence that anything speaks of.
        var lastSequence: UInt64
        var looseCatalogs: [[UInt8]]
    }

    /// The change tag of a record whose version on the service is not known any more: it is that of
    /// no version, so that the service's version is taken, whichever it is.
    static let unknownTag = "?"
    static let context = "Repaired after damage"

    /// What was collected.
    let source: Access
    let places: [Database]
    let target: Access
    let databases: Databases
    let extent: Extent
    let catalog: CatalogSnapshot
    let bounds: CompactionBounds
    let meta: Meta
    /// Gets intact operations that are not kept, with the reason.
    typealias SetAside = @Sendable (UInt64, UnsafeRawBufferPointer, String) throws -> Void
    let setAside: SetAside

    var report = SalvageReport()
    /// Records whose version on the service has to be taken again.
    var uncertain: [StoredRecordID] = []
    /// The last sequence of the new log.
    var lastKept: UInt64 = 0
    var output = ByteBuffer(capacity: 4096)

    /// - Throws: `damaged` if no catalog is left.
    static func make(
        _ source: Access, _ places: [Database], to target: Access, _ databases: Databases,
        _ extent: Extent, setAside: @escaping SetAside
    ) throws -> SalvageBuilder {
        let meta = try Meta(source, places[SalvageSource.Place.meta])
        let catalog = CatalogSnapshot(try meta.catalog(or: extent.looseCatalogs))
        let bounds = try meta.bounds ?? Self.bounds(source, places)
        return unsafe SalvageBuilder(
            source, places, target, databases, extent, meta, catalog, bounds, setAside)
    }

    private init(
        _ source: Access, _ places: [Database], _ target: Access, _ databases: Databases,
        _ extent: Extent, _ meta: Meta, _ catalog: CatalogSnapshot, _ bounds: CompactionBounds,
        _ setAside: @escaping SetAside
    ) {
        self.source = source
        self.places = places
        self.target = target
        self.databases = databases
        self.extent = extent
        unsafe self.setAside = unsafe setAside
        self.meta = meta
        self.catalog = catalog
        self.bounds = bounds
    }

    /// How far a log was compacted whose note of it is lost: all operations behind are there.
    private static func bounds(_ source: Access, _ places: [Database]) throws -> CompactionBounds {
        var through: UInt64 = 0
        var expected: UInt64 = 1
        try source.withCursor(in: places[SalvageSource.Place.operations]) { cursor in
            while try cursor.next() {
                let sequence = unsafe cursor.key.sequence
                let operation = try unsafe OperationView(cursor.value, sequence: sequence)
                if sequence > expected { through = sequence - 1 }
                if operation.kind == .baseline || operation.kind == .journal { through = sequence }
                expected = sequence + 1
            }
        }
        return CompactionBounds(through: through, firstKept: through > 0 ? 1 : 0)
    }

    /// Makes log, tables and meta.
    func build(_ progress: (Int) -> Void) throws {
        if extent.isLogWhole { try copyLog() } else { try salvageRecords() }
        if !extent.isLogWhole { try noteMissing() }
        let end = max(extent.lastSequence, lastKept)
        try putMeta(compactedThrough: extent.isLogWhole ? nil : end)
        try project(progress)
        if !extent.isLogWhole, try !appendRepair(behind: end) { try setAllAside() }
        try putOutboxCounts()
        report.operations = try target.count(of: databases.log)
    }

    var reader: TableReader {
        TableReader(access: target, databases: databases, catalog: catalog)
    }

    private func copyLog() throws {
        try source.withCursor(in: places[SalvageSource.Place.operations]) { cursor in
            while try cursor.next() {
                try unsafe target.append(cursor.key, cursor.value, in: databases.log)
                report.operationsKept += 1
                lastKept = unsafe cursor.key.sequence
            }
        }
    }

    private func project(_ progress: (Int) -> Void) throws {
        var projector = Projector(access: target, databases: databases)
        var done = 0
        try reader.log.visit(from: 1) { operation in
            try projector.apply(operation, catalog: catalog)
            done += 1
            if done % WorkProgress.interval == 0 { progress(done) }
            return true
        }
    }

    /// Counts the sequences that no intact operation has.
    private func noteMissing() throws {
        var expected = bounds.through + 1
        var found = report
        func note(_ first: UInt64, _ last: UInt64) {
            guard first <= last else { return }
            found.missingCount += last - first + 1
            if found.missingSequences.count < SalvageReport.namedMax {
                found.missingSequences.append(first == last ? "\(first)" : "\(first)-\(last)")
            }
        }
        try source.withCursor(in: places[SalvageSource.Place.operations]) { cursor in
            var isThere = try unsafe TableKey.withSequence(expected) {
                try unsafe cursor.seek(atOrAfter: $0)
            }
            while isThere {
                let sequence = unsafe cursor.key.sequence
                if sequence > expected { note(expected, sequence - 1) }
                expected = sequence + 1
                isThere = try cursor.next()
            }
        }
        note(expected, extent.lastSequence)
        report = found
    }

    // MARK: The repair's own operations

    /// Appends operations that say which records are to be fetched again, and at least one, so that no
    /// sequence is given twice.
    ///
    /// - Returns: whether there is one; false if no record is left.
    private func appendRepair(behind end: UInt64) throws -> Bool {
        var sequence = end
        var clock = try clock(before: .max)
        func next() -> OperationHeader {
            sequence += 1
            clock = clock < .max ? clock + 1 : clock
            return OperationHeader(
                kind: .release, origin: .local, entity: EntityNumber(0), transaction: end + 1,
                clock: clock, previous: 0, key: RecordKey(RecordName("-")),
                context: sequence == end + 1 ? Self.context : "")
        }
        var projector = Projector(access: target, databases: databases)
        for place in uncertain {
            guard let row = try reader.row(place.entity, place.key), row.hasChangeTag else {
                continue
            }
            var header = next()
            (header.kind, header.origin) = (.acknowledge, .remote)
            (header.entity, header.key) = (place.entity, place.key)
            header.previous = row.lastSequence
            let stamp = SyncStamp(
                changeTag: Self.unknownTag, modifiedMilliseconds: 0,
                acknowledgedThrough: row.syncedSequence)
            try append(header, sequence, stamp, &projector)
        }
        if sequence > end { return true }
        guard let place = try anyRecord(), let row = try reader.row(place.entity, place.key)
        else { return false }
        var header = next()
        (header.entity, header.key) = (place.entity, place.key)
        header.previous = row.lastSequence
        try append(header, sequence, nil, &projector)
        return true
    }

    /// Leaves the log empty if no record is left, for nothing could say which sequence was last.
    private func setAllAside() throws {
        try unsafe reader.log.visitStored(from: 0) { sequence, bytes in
            try unsafe setAside(sequence, bytes, "no record is left")
            return true
        }
        report.operationsSetAside += report.operationsKept
        report.operationsKept = 0
        try target.clear(databases.log)
        try target.clearTables(databases)
        try target.deleteMeta(MetaName.compaction, databases)
    }

    private func append(
        _ header: OperationHeader, _ sequence: UInt64, _ stamp: SyncStamp?,
        _ projector: inout Projector
    ) throws {
        output.removeAll()
        try OperationEncoder.begin(header, stamp: stamp, into: &output)
        OperationEncoder.end(sequence: sequence, into: &output)
        try unsafe TableKey.withSequence(sequence) {
            try unsafe target.append($0, output.bytes, in: databases.log)
        }
        let view = try unsafe OperationView(output.bytes, sequence: sequence)
        try projector.apply(view, catalog: catalog)
    }

    /// A record that has a row, best one that is not parked, for an operation that changes nothing.
    private func anyRecord() throws -> StoredRecordID? {
        var found: StoredRecordID?
        for table in catalog.tables where found == nil {
            try unsafe reader.visitStoredRows(of: table.number) { bytes, row in
                guard let key = unsafe RecordKey(reading: bytes) else { return true }
                found = StoredRecordID(entity: table.number, key: key)
                return row.flags.contains(.isParked)
            }
        }
        return found
    }

    /// The clock of the last intact operation before a sequence.
    func clock(before sequence: UInt64) throws -> UInt64 {
        try source.withCursor(in: places[SalvageSource.Place.operations]) { cursor in
            let isBehind = try unsafe TableKey.withSequence(sequence) {
                try unsafe cursor.seek(atOrAfter: $0)
            }
            guard try isBehind ? cursor.previous() : cursor.last() else { return 0 }
            return try unsafe OperationView(cursor.value, sequence: cursor.key.sequence).clock
        }
    }
}
