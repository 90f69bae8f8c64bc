package import BackstitchCore

extension EntityTable {
    /// The mark of a record that the program saves by its own type: whether whoever reads by the catalog
    /// can read it, which the type does not tell where other versions declare more.
    ///
    /// - Parameters:
    ///   - changes: The packed fields.
    ///   - row: The record as it is; nil if it is new.
    ///   - layout: The fields of the row that the packed ones replace.
    package func mark(
        saving changes: borrowing FieldChanges, over row: RowView? = nil,
        replacing layout: FieldLayout? = nil
    ) throws -> OperationHeader.Flags {
        guard isReadOtherwise, let packed = unsafe PackedFields(changes.body.bytes) else {
            return []
        }
        var saved = Fields()
        if let before = row?.fields {
            saved = try Fields(before).without(Set(layout?.fields ?? []))
        }
        saved.overlay(try Fields(packed))
        return canRead(saved) ? [] : .isUnreadable
    }
}

extension LogWriter {
    /// Appends the operation that makes a record these fields; nil ends it.
    ///
    /// If the record has them already, a stamp is acknowledged, and nothing happens without one.
    /// - Parameter lost: What the operation has to do with a version that the service lost.
    package func replace(
        _ key: RecordKey, _ table: EntityTable, with fields: Fields?, origin: OperationOrigin,
        stamp: SyncStamp? = nil, conflict: ConflictReport? = nil, lost: OperationHeader.Flags = []
    ) throws {
        let row = try row(table.number, key)
        let isLive = row?.isDeleted == false
        guard let fields else {
            if let row, isLive {
                try appendDelete(
                    origin: origin, entity: table.number, key: key, row: row, stamp: stamp,
                    conflict: conflict)
            } else if let row, stamp != nil {
                try marks.acknowledge(
                    table.number, key, through: row.lastSequence, version: nil, conflict: conflict)
            }
            return
        }
        let flags = lost.union(table.canRead(fields) ? [] : .isUnreadable)
        self.fields.writer.reset(zone: key.zone)
        try fields.withoutNulls.write(to: &self.fields.writer)
        self.fields.pack()
        guard let row, isLive else {
            return try insertBody(
                origin: origin, entity: table.number, key: key, previous: row?.lastSequence ?? 0,
                flags: flags, stamp: stamp, conflict: conflict)
        }
        let previous = row.lastSequence
        if try self.fields.compare(row, keepingAllBut: nil) {
            try appendUpdate(
                origin: origin, entity: table.number, key: key, previous: previous, flags: flags,
                stamp: stamp, conflict: conflict)
        } else if let stamp {
            try marks.acknowledge(
                table.number, key, through: previous, version: stamp.version, conflict: conflict)
        }
    }
}
