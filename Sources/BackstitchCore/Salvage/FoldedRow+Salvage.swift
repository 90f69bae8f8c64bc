extension FoldedRow {
    /// A row of the tables.
    ///
    /// - Parameter parked: The value of its entry among the parked records. Without it the record is
    ///   not parked any more, and is pushed again.
    package init(_ row: RowView, parked: [UInt8]?) {
        var header = row.header
        var park: Park?
        if header.flags.contains(.isParked) {
            if let parked, parked.count >= 8 {
                let sequence = parked.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
                park = Park(sequence: sequence, reason: Array(parked.dropFirst(8)))
            } else {
                header.flags.remove(.isParked)
            }
        }
        unsafe self.init(header: header, body: Array(row.bodyBytes), park: park)
    }

    /// Whether a row of the tables says the same.
    func isSame(as row: RowView) -> Bool {
        unsafe row.header == header && body.elementsEqual(row.bodyBytes)
    }

    /// The fields; nil for a deleted record, or where they are damaged.
    var fields: Fields? {
        guard !header.isDeleted else { return nil }
        return unsafe body.withUnsafeBytes { bytes in
            unsafe PackedFields(bytes).flatMap { try? Fields($0) }
        }
    }

    /// Takes the mark away that the record is parked.
    mutating func unpark() {
        self = FoldedRow(header: header, body: body)
        self.header.flags.remove(.isParked)
    }
}

extension Fields {
    /// The packed form; nil if a value does not fit it.
    var packed: [UInt8]? {
        var writer = _FieldWriter()
        var buffer = ByteBuffer()
        do { try withoutNulls.write(to: &writer) } catch { return nil }
        writer.finish(into: &buffer)
        return buffer.array
    }
}
