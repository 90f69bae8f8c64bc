import BackstitchCore
import BackstitchLog

/// Gives each operation of the log the whole record before and after it.
///
/// An update carries the changed fields only. The rest is known from the record's operations before,
/// which the folder has seen and remembers up to a limit; otherwise from the record's row of now with
/// the later operations undone, or from its earlier operations, whichever takes fewer steps.
struct ChangeFolder {
    /// The most bytes of records that are remembered: 32 MiB.
    static let rememberedBytesMax = 32 << 20

    /// The operation up to which what is remembered is right.
    private(set) var position: UInt64 = 0
    private var bodies: [RecordPlace: [UInt8]] = [:]
    private var byteCount = 0

    /// Goes on behind an operation; forgets if that is not the last one that was seen.
    mutating func begin(after sequence: UInt64) {
        guard position != sequence else { return }
        position = sequence
        forget()
    }

    /// Notes that an operation was passed by.
    mutating func pass(_ sequence: UInt64) { position = sequence }

    private mutating func forget() {
        bodies.removeAll()
        byteCount = 0
    }

    private mutating func remember(_ place: RecordPlace, _ body: [UInt8]?) {
        if let old = bodies.removeValue(forKey: place) { byteCount -= old.count }
        guard let body else { return }
        byteCount += body.count
        if byteCount > Self.rememberedBytesMax {
            forget()
            byteCount = body.count
        }
        bodies[place] = body
    }

    /// The packed fields of a record before and after an operation that changes content; nil if there
    /// is no record.
    mutating func fold(
        _ operation: OperationView, _ reader: TableReader
    ) throws -> (before: [UInt8]?, after: [UInt8]?) {
        let place = RecordPlace(entity: operation.entity, key: try operation.key)
        var before: [UInt8]?
        var after: [UInt8]?
        switch operation.kind {
        case .insert: after = Array(operation.afterBytes)
        case .baseline: after = operation.isTombstone ? nil : Array(try operation.after.bytes)
        case .delete: before = Array(try operation.before.bytes)
        case .update:
            let known = try bodies[place] ?? reader.body(before: operation)
            before = known
            after = try known.overlaid(by: operation.after)
        case .acknowledge, .park, .release, .forget, .journal: break
        }
        remember(place, after)
        position = operation.sequence
        return (before, after)
    }
}

extension TableReader {
    /// The packed fields of a record before an update, from the log and the row of now.
    fileprivate func body(before update: OperationView) throws -> [UInt8] {
        var later: [UInt64] = []
        var earlier: [UInt64] = []
        let row = try row(update.entity, keyBytes: update.keyBytes)
        let body = row.map { Array($0.bodyBytes) }
        var up = row?.lastSequence ?? 0
        var down = update.previous
        while up >= update.sequence || down > 0 {
            if up == update.sequence {
                return try undo(later + [up], from: body)
            }
            if up > update.sequence {
                later.append(up)
                up = try previous(of: up)?.sequence ?? 0
            }
            guard down > 0 else { continue }
            earlier.append(down)
            guard let step = try previous(of: down) else {
                down = 0
                continue
            }
            if step.isWhole { return try fold(earlier.reversed()) }
            down = step.sequence
        }
        throw StoreError(
            .damaged,
            "Operation \(update.sequence) updates a record whose operations before are missing. Run "
                + "verify.")
    }

    /// The operation before another one of the same record, and whether the latter carries all fields;
    /// nil if it is missing.
    private func previous(of sequence: UInt64) throws -> (sequence: UInt64, isWhole: Bool)? {
        try withDescribedDamage(at: sequence) {
            try withOperation(sequence) { operation in
                guard operation.previous < sequence else { throw OperationDamage.fields }
                return (
                    operation.previous, operation.kind == .insert || operation.kind == .baseline
                )
            }
        }
    }

    private func undo(_ sequences: [UInt64], from body: [UInt8]?) throws -> [UInt8] {
        var body = body
        for sequence in sequences {
            try withDescribedDamage(at: sequence) {
                _ = try withOperation(sequence) { operation in
                    switch operation.kind {
                    case .update: body = try (body ?? []).overlaid(by: operation.before)
                    case .delete: body = Array(try operation.before.bytes)
                    default: body = nil
                    }
                }
            }
        }
        return body ?? []
    }

    private func fold(_ sequences: [UInt64]) throws -> [UInt8] {
        var body: [UInt8] = []
        for sequence in sequences {
            try withDescribedDamage(at: sequence) {
                _ = try withOperation(sequence) { operation in
                    body =
                        operation.kind == .update
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
    func overlaid(by changed: PackedFields) throws -> [UInt8] {
        try withUnsafeBytes { bytes in
            guard let fields = PackedFields(bytes) else { throw FieldError(.damaged) }
            var writer = FieldWriter()
            var output = ByteBuffer(capacity: 512)
            try writer.write(fields, overlaidBy: changed)
            writer.finish(into: &output)
            return [UInt8](output.bytes)
        }
    }
}
