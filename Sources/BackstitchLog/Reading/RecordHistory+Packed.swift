package import BackstitchCore

extension RecordHistory {
    /// The packed fields of a record before an update, from the log and the row of now.
    package static func body(
        before update: OperationView, _ reader: TableReader
    ) throws -> [UInt8] {
        var later: [UInt64] = []
        var earlier: [UInt64] = []
        let row = try unsafe reader.row(update.entity, keyBytes: update.keyBytes)
        let body = row.map { unsafe Array($0.bodyBytes) }
        var up = row?.lastSequence ?? 0
        var down = update.previous
        while up >= update.sequence || down > 0 {
            if up == update.sequence {
                return try undo(later + [up], from: body, reader)
            }
            if up > update.sequence {
                later.append(up)
                up = try previous(of: up, reader)?.sequence ?? 0
            }
            guard down > 0 else { continue }
            earlier.append(down)
            guard let step = try previous(of: down, reader) else {
                down = 0
                continue
            }
            if step.isWhole { return try fold(earlier.reversed(), reader) }
            down = step.sequence
        }
        throw StoreError(
            .damaged,
            "Operation \(update.sequence) updates a record whose operations before are missing. Run "
                + "verify.")
    }

    /// The operation before another one of the same record, and whether the latter carries all fields;
    /// nil if it is missing.
    private static func previous(
        of sequence: UInt64, _ reader: TableReader
    ) throws -> (sequence: UInt64, isWhole: Bool)? {
        try StoreError.describingDamage(at: sequence) {
            try reader.log.withOperation(sequence) { operation in
                guard operation.previous < sequence else { throw OperationDamage.fields }
                return (
                    operation.previous, operation.kind == .insert || operation.kind == .baseline
                )
            }
        }
    }

    private static func undo(
        _ sequences: [UInt64], from body: [UInt8]?, _ reader: TableReader
    ) throws -> [UInt8] {
        var body = body
        for sequence in sequences {
            try StoreError.describingDamage(at: sequence) {
                _ = try reader.log.withOperation(sequence) { operation in
                    switch operation.kind {
                    case .update: body = try (body ?? []).overlaid(by: operation.before)
                    case .delete: body = unsafe Array(try operation.before.bytes)
                    default: body = nil
                    }
                }
            }
        }
        return body ?? []
    }

    private static func fold(
        _ sequences: [UInt64], _ reader: TableReader
    ) throws -> [UInt8] {
        var body: [UInt8] = []
        for sequence in sequences {
            try StoreError.describingDamage(at: sequence) {
                _ = try reader.log.withOperation(sequence) { operation in
                    body =
                        unsafe operation.kind == .update
                        ? try body.overlaid(by: operation.after)
                        : Array(try operation.after.bytes)
                }
            }
        }
        return body
    }
}

extension [UInt8] {
    /// Packed fields with others laid over them; a null takes its field away.
    package func overlaid(by changed: PackedFields) throws -> [UInt8] {
        try unsafe withUnsafeBytes { bytes in
            guard let fields = unsafe PackedFields(bytes) else { throw FieldError(.damaged) }
            var writer = _FieldWriter()
            var output = ByteBuffer(capacity: 512)
            try writer.write(fields, overlaidBy: changed)
            writer.finish(into: &output)
            return unsafe [UInt8](output.bytes)
        }
    }
}
