/// What a conflict was and how it ended, as it is kept in the log and in the conflict journal.
///
/// Nil fields say that the record did not exist on that side.
package struct ConflictReport: Equatable, Sendable {
    package var policy: ConflictPolicy
    /// The version that both sides started from.
    package var base: Fields?
    /// The local version.
    package var local: Fields?
    /// The service's version.
    package var server: Fields?
    /// What both sides agree on in the end.
    package var outcome: Fields?
    /// The record that has the local version: a new one if both were kept, or the one that stays
    /// where this one ended as a duplicate.
    package var copy: RecordName?

    package init(
        policy: ConflictPolicy, base: Fields?, local: Fields?, server: Fields?, outcome: Fields?,
        copy: RecordName? = nil
    ) {
        self.policy = policy
        self.base = base
        self.local = local
        self.server = server
        self.outcome = outcome
        self.copy = copy
    }

    /// The bit that says that the name of a copy follows the sides.
    private static let copyBit: UInt8 = 1 << 4

    /// Appends the stored form: policy, a bit for each side that exists, then each side's packed
    /// fields after a 32-bit byte count, and the name of the copy after an 8-bit one.
    package func append(to output: inout ByteBuffer) throws(FieldError) {
        let sides = [base, local, server, outcome]
        var present: UInt8 = 0
        for (bit, side) in sides.enumerated() where side != nil { present |= 1 << UInt8(bit) }
        if copy != nil { present |= Self.copyBit }
        output.append(policy.code)
        output.append(present)
        var writer = _FieldWriter()
        for side in sides {
            guard let side else { continue }
            writer.reset()
            try side.withoutNulls.write(to: &writer)
            let at = output.count
            output.append(little: UInt32(0))
            writer.finish(into: &output)
            output.store(little: UInt32(output.count - at - 4), at: at)
        }
        if let copy {
            let name = copy.description
            output.append(UInt8(clamping: name.utf8.count))
            output.append(utf8: name)
        }
    }

    /// Reads the stored form.
    package init(reading bytes: UnsafeRawBufferPointer) throws(OperationDamage) {
        var scanner = unsafe ByteScanner(bytes, from: 0, to: bytes.count)
        guard let policy = ConflictPolicy(code: try scanner.integer(UInt8.self)) else {
            throw .unknownKind
        }
        let present = try scanner.integer(UInt8.self)
        var sides: [Fields?] = []
        for bit in 0..<4 {
            guard present & (1 << UInt8(bit)) != 0 else {
                sides.append(nil)
                continue
            }
            guard
                let packed = unsafe PackedFields(
                    try scanner.take(Int(scanner.integer(UInt32.self)))),
                let fields = try? Fields(packed)
            else { throw .fields }
            sides.append(fields)
        }
        var copy: RecordName?
        if present & Self.copyBit != 0 {
            let name = try unsafe scanner.take(Int(scanner.integer(UInt8.self)))
            copy = unsafe RecordName(String(decoding: name, as: UTF8.self))
        }
        self.init(
            policy: policy, base: sides[0], local: sides[1], server: sides[2], outcome: sides[3],
            copy: copy)
    }
}
