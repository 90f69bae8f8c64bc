import BackstitchCore
import BackstitchLog
import LMDB

/// How far a view is; stored beside its entries, in the same transactions.
///
/// | bytes | meaning, integers little-endian |
/// |---|---|
/// | 1 | format version, 1 |
/// | 1 | flags: 1 complete, 2 entries are being cleared, 4 failed |
/// | 2 | slot: where its entries are |
/// | 4 | version of the projection |
/// | 8 | checkpoint: the sequence of the last operation that it has |
/// | 8 | the clock of that operation, so that another log is recognised |
/// | 8, n | where it failed: the sequence of the operation that it could not take in, and why |
package struct ProjectionState: Equatable {
    static let formatVersion: UInt8 = 1
    private static let fixedByteCount = 24

    var slot: UInt16
    package var version: UInt32
    /// The last operation that the view has; 0 for none.
    package var checkpoint: UInt64 = 0
    /// The clock of that operation.
    var clock: UInt64 = 0
    /// Whether it had all operations once since it was begun.
    package var isComplete = false
    /// Whether entries of an earlier build may be there.
    var isClearing = false
    package var failure: ProjectionFailure?

    init(slot: UInt16, version: UInt32) {
        self.slot = slot
        self.version = version
    }

    /// Begins anew, with another version if one is given. Why it failed stays known until it is
    /// tried again.
    mutating func reset(version: UInt32? = nil) {
        let failure = failure
        self = ProjectionState(slot: slot, version: version ?? self.version)
        isClearing = true
        self.failure = failure
    }

    /// Reads the stored form; nil for other bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.fixedByteCount, bytes[0] == Self.formatVersion else { return nil }
        slot = bytes.littleEndian(at: 2)
        version = bytes.littleEndian(at: 4)
        checkpoint = bytes.littleEndian(at: 8)
        clock = bytes.littleEndian(at: 16)
        isComplete = bytes[1] & 1 != 0
        isClearing = bytes[1] & 2 != 0
        guard bytes[1] & 4 != 0 else { return }
        guard bytes.count >= Self.fixedByteCount + 8 else { return nil }
        failure = ProjectionFailure(
            sequence: bytes.littleEndian(at: Self.fixedByteCount),
            reason: String(
                decoding: bytes[(Self.fixedByteCount + 8)...], as: UTF8.self))
    }

    /// What tells an observer that the view is another one; for a view that follows in the commits
    /// themselves without its place, which each of them changes.
    func observedBytes(isInline: Bool) -> [UInt8] {
        guard isInline else { return bytes }
        var state = self
        (state.checkpoint, state.clock) = (0, 0)
        return state.bytes
    }

    /// The stored form.
    var bytes: [UInt8] {
        var buffer = ByteBuffer(capacity: 128)
        append(to: &buffer)
        return unsafe Array(buffer.bytes)
    }

    /// Appends the stored form.
    func append(to output: inout ByteBuffer) {
        output.append(Self.formatVersion)
        output.append((isComplete ? 1 : 0) | (isClearing ? 2 : 0) | (failure == nil ? 0 : 4))
        output.append(little: slot)
        output.append(little: version)
        output.append(little: checkpoint)
        output.append(little: clock)
        guard let failure else { return }
        output.append(little: failure.sequence)
        output.append(utf8: failure.reason)
    }
}

extension MetaName {
    /// The state of a projection.
    static func projection(_ name: String) -> String { projectionPrefix + name }
    package static let projectionPrefix = "projection."
}

extension LogWriter {
    func put(_ state: ProjectionState, of name: String) throws {
        try setMeta(MetaName.projection(name), state.bytes)
    }
}
