import BackstitchCore
import BackstitchLog
public import BackstitchStore

extension Store {
    /// Writes the unsynced changes as JSON Lines.
    ///
    /// Each record with unsynced operations has one line with their combined effect, in the order
    /// of the last operations:
    ///
    /// ```json
    /// {"operationType":"create","record":{"recordName":"ada","recordType":"Employee","fields":{"name":{"value":"Ada"}}}}
    /// {"operationType":"update","record":{"recordName":"bob","recordType":"Employee","recordChangeTag":"7","fields":{"name":{"value":null}}}}
    /// {"operationType":"delete","record":{"recordName":"cy","recordChangeTag":"9"}}
    /// ```
    ///
    /// Values have the service's types: times are milliseconds since 1970, booleans 0 and 1, bytes
    /// Base64, and references `{"recordName":…,"action":…}`. Parked records are left out, and so are
    /// attributes that are not uploaded. The store stays as it is: nothing counts as pushed.
    ///
    /// The closure gets the lines in parts of some 64 KiB, each of whole lines and each an array of its own,
    /// which costs a copy of the part. All are of one moment of the store.
    ///
    /// - Returns: the number of lines.
    /// - Throws: `closed`; `damaged` if a row or an operation can't be read; what the closure
    ///   throws.
    /// - Complexity: O(*n*) in the operations since the oldest unsynced one. Of up to a million of them
    ///   24 bytes each are kept in memory, of more a bit each.
    @discardableResult
    public func exportOutbox(to write: ([UInt8]) throws -> Void) throws -> Int {
        try read { try OutboxExport(reader: $0.reader).exportPending(to: write) }
    }

    /// Writes the changes of parked records as JSON Lines, in the form of ``exportOutbox(to:)`` and in
    /// the order of their entities and keys. Nothing changes in the store.
    ///
    /// - Returns: the number of lines.
    /// - Throws: as ``exportOutbox(to:)``.
    @discardableResult
    public func exportParked(to write: ([UInt8]) throws -> Void) throws -> Int {
        try read { try OutboxExport(reader: $0.reader).exportParked(to: write) }
    }
}

/// Writes what the service does not have yet, line by line.
struct OutboxExport {
    let reader: TableReader
    /// Whether many rows may be read one after another.
    var readsRows = true

    /// The most bytes of lines that are collected before they are handed on, but for one line.
    private static let exportBytesMax = 60_000

    func exportPending(to write: ([UInt8]) throws -> Void) throws -> Int {
        let first = try LogHorizon(reader).outboxFloor + 1
        var writer = ModificationWriter()
        var count = 0
        if readsRows, let rows = try PendingRows(reader, from: first) {
            try rows.visit { row, name, table in
                guard try export(row, of: name, table, to: &writer) else { return }
                count += 1
                try writer.handOn(above: Self.exportBytesMax, to: write)
            }
        } else {
            let overtaken = try overtakenOperations(from: first)
            try reader.log.visit(from: first) { operation in
                guard operation.kind.changesContent,
                    !overtaken.contains(Int(operation.sequence - first)),
                    try export(operation, to: &writer)
                else { return true }
                count += 1
                try writer.handOn(above: Self.exportBytesMax, to: write)
                return true
            }
        }
        try writer.handOn(to: write)
        return count
    }

    func exportParked(to write: ([UInt8]) throws -> Void) throws -> Int {
        var writer = ModificationWriter()
        var count = 0
        try reader.visitParked { place, _, _ in
            guard let row = try reader.row(place.entity, place.key),
                let table = reader.catalog.table(place.entity)
            else { return true }
            if try export(row, of: place.key.name, table, to: &writer) { count += 1 }
            try writer.handOn(above: Self.exportBytesMax, to: write)
            return true
        }
        try writer.handOn(to: write)
        return count
    }

    /// The operations behind which their records have later ones, by distance from the first.
    private func overtakenOperations(from first: UInt64) throws -> BitSet {
        let last = try reader.log.head
        var overtaken = BitSet(count: last < first ? 0 : Int(last - first) + 1)
        try unsafe reader.log.visitStored(from: first) { sequence, bytes in
            // Whether it is damaged is seen when it is its turn to be exported.
            guard
                let operation = try? unsafe OperationView(
                    bytes, sequence: sequence, verifies: false),
                operation.kind.changesContent, operation.previous >= first,
                operation.previous < sequence
            else { return true }
            overtaken.insert(Int(operation.previous - first))
            return true
        }
        return overtaken
    }

    /// Writes the modification of the record whose last operation this is.
    ///
    /// - Returns: whether there is something to push.
    private func export(
        _ operation: OperationView, to writer: inout ModificationWriter
    ) throws -> Bool {
        guard let row = try unsafe reader.row(operation.entity, keyBytes: operation.keyBytes),
            row.lastSequence == operation.sequence, row.isDirty, !row.flags.contains(.isParked),
            let table = reader.catalog.table(operation.entity)
        else { return false }
        return try export(row, of: try operation.key.name, table, to: &writer)
    }

    private func export(
        _ row: RowView, of name: RecordName, _ table: EntityTable,
        to writer: inout ModificationWriter
    ) throws -> Bool {
        // The service knows nothing of the record, so the row is what has to be created.
        if !row.hasChangeTag, !row.isDeleted {
            guard let fields = row.fields else {
                throw StoreError(.damaged, "A row of \(table.name) can't be read. Run rebuild.")
            }
            try writer.create(table, name, fields)
            return true
        }
        if row.isDeleted, !row.hasChangeTag { return false }
        var fold = RecordFold()
        for step in try reader.history(of: row).unsynced {
            fold.add(step.without(table.unsentFields))
        }
        let place = ModificationWriter.Place(table: table, name: name, changeTag: row.changeTag)
        return writer.write(fold.push, of: place)
    }
}

/// A set of small numbers, a bit each.
private struct BitSet {
    private var words: [UInt64]

    init(count: Int) { words = Array(repeating: 0, count: (count + 63) / 64) }

    func contains(_ number: Int) -> Bool { words[number / 64] & (1 << (number % 64)) != 0 }

    mutating func insert(_ number: Int) { words[number / 64] |= 1 << (number % 64) }
}
