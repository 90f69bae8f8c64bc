/// A row as values: what the operations of a record so far add up to.
package struct FoldedRow: Equatable, Sendable {
    package var header: RowHeader
    /// The packed fields; none for a tombstone.
    package var body: [UInt8]
    /// The operation that parked the record and its reason; nil if it is not parked.
    package private(set) var park: Park?

    package struct Park: Equatable, Sendable {
        let sequence: UInt64
        let reason: [UInt8]
    }

    init(header: RowHeader, body: [UInt8], park: Park? = nil) {
        self.header = header
        self.body = body
        self.park = park
    }

    /// The row that a baseline carries.
    package init(_ baseline: BaselineView) {
        unsafe self.init(
            header: baseline.row.header, body: Array(baseline.row.bodyBytes),
            park: baseline.park.map { unsafe Park(sequence: $0.sequence, reason: Array($0.reason)) }
        )
    }

    /// Appends the payload of a baseline.
    package func append(to output: inout ByteBuffer) {
        output.append(little: UInt32(park.map { 8 + $0.reason.count } ?? 0))
        if let park {
            output.append(big: park.sequence)
            output.append(park.reason)
        }
        header.appendUnchecked(to: &output)
        output.append(body)
    }

    /// Takes the values and the reason of a park out of it, so that it can't be read as its type.
    package mutating func erase() {
        park = park.map { Park(sequence: $0.sequence, reason: []) }
        guard !header.flags.contains(.isDeleted) else { return }
        header.flags.insert(.isUnreadable)
        var writer = _FieldWriter()
        var buffer = ByteBuffer(capacity: 16)
        writer.finish(into: &buffer)
        body = buffer.array
    }

    /// Takes over a header that an operation made.
    fileprivate mutating func mark(_ header: RowHeader, by operation: OperationView) {
        self.header = header
        if operation.kind == .park {
            park = unsafe Park(sequence: operation.sequence, reason: Array(operation.afterBytes))
        }
        if !header.flags.contains(.isParked) { park = nil }
    }
}

/// Folds the operations of a record into the row that the projector would make of them.
package struct RowFolder: ~Copyable {
    private var writer = _FieldWriter()
    private var buffer = ByteBuffer(capacity: 1024)

    package init() {}

    /// Applies the next operation of a record to its row; nil stands for no row.
    ///
    /// - Throws: `RowContradiction` or `OperationDamage` if the operation does not fit,
    ///   `FieldError` if fields are damaged.
    package mutating func apply(
        _ operation: OperationView, to row: inout FoldedRow?
    ) throws {
        switch try RowChange(operation, on: row?.header) {
        case .begin(let header):
            row = unsafe FoldedRow(header: header, body: Array(operation.afterBytes))
        case .update(let header):
            let body = try overlay(operation, on: row?.body ?? [])
            row = FoldedRow(header: header, body: body)
        case .bury(let header):
            row = FoldedRow(header: header, body: [])
        case .mark(let header):
            row?.mark(header, by: operation)
        case .restore:
            guard let baseline = operation.baseline else { throw OperationDamage.fields }
            row = FoldedRow(baseline)
        case .end:
            row = nil
        case .nothing:
            break
        }
    }

    private mutating func overlay(
        _ operation: OperationView, on body: [UInt8]
    ) throws -> [UInt8] {
        let changed = try operation.after
        writer.reset()
        try unsafe body.withUnsafeBytes { bytes in
            guard let fields = unsafe PackedFields(bytes) else { throw FieldError(.damaged) }
            try writer.write(fields, overlaidBy: changed)
        }
        buffer.removeAll()
        writer.finish(into: &buffer)
        return buffer.array
    }
}

extension _FieldWriter {
    /// Writes the fields of a row with changes laid over them; a null removes its field.
    package mutating func write(
        _ fields: PackedFields, overlaidBy changed: PackedFields
    ) throws(FieldError) {
        guard fields.isAscending, changed.isAscending else { throw FieldError(.damaged) }
        var old = 0
        var new = 0
        while old < fields.count || new < changed.count {
            let isOld =
                unsafe new == changed.count
                || (old < fields.count && fields.field(at: old) < changed.field(at: new))
            if isOld {
                try unsafe write(raw: try fields.rawValue(at: old), of: fields.field(at: old))
                old += 1
                continue
            }
            let field = unsafe changed.field(at: new)
            if old < fields.count, unsafe fields.field(at: old) == field { old += 1 }
            let raw = try unsafe changed.rawValue(at: new)
            if unsafe raw[0] != FieldTag.null.rawValue { try unsafe write(raw: raw, of: field) }
            new += 1
        }
    }
}
