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
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.fixedByteCount, bytes[0] == Self.formatVersion else { return nil }
        slot = bytes.little(UInt16.self, at: 2)
        version = bytes.little(UInt32.self, at: 4)
        checkpoint = bytes.little(UInt64.self, at: 8)
        clock = bytes.little(UInt64.self, at: 16)
        isComplete = bytes[1] & 1 != 0
        isClearing = bytes[1] & 2 != 0
        guard bytes[1] & 4 != 0 else { return }
        guard bytes.count >= Self.fixedByteCount + 8 else { return nil }
        failure = ProjectionFailure(
            sequence: bytes.little(UInt64.self, at: Self.fixedByteCount),
            reason: String(
                decoding: bytes.part((Self.fixedByteCount + 8)..<bytes.count), as: UTF8.self))
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

extension TableReader {
    /// The stored state of a projection; nil if there is none.
    func projectionState(_ name: String) throws -> ProjectionState? {
        try Array(MetaName.projection(name).utf8).withUnsafeBytes { key in
            try access.get(key, in: databases.meta).map { try projectionState(in: $0, name) }
        }
    }

    private func projectionState(
        in bytes: UnsafeRawBufferPointer, _ name: String
    ) throws -> ProjectionState {
        guard let state = ProjectionState(bytes) else {
            throw StoreError(
                .damaged,
                "The state of the projection '\(name)' can't be read, or a newer version wrote it. "
                    + "Update the program, or remove the projection and let it be built anew.")
        }
        return state
    }

    /// The stored states, in the order of their names.
    package func projectionStates() throws -> [(name: String, state: ProjectionState)] {
        var states: [(name: String, state: ProjectionState)] = []
        let prefix = Array(MetaName.projectionPrefix.utf8)
        try prefix.withUnsafeBytes { prefix in
            try access.withCursor(in: databases.meta) { cursor in
                var isThere = try cursor.seek(atOrAfter: prefix)
                while isThere, cursor.key.starts(with: prefix) {
                    let key = cursor.key
                    let name = String(decoding: key.part(prefix.count..<key.count), as: UTF8.self)
                    states.append((name, try projectionState(in: cursor.value, name)))
                    isThere = try cursor.next()
                }
            }
        }
        return states
    }

    /// The entries of a view.
    package func entries(of state: ProjectionState) -> ViewEntries {
        ViewEntries(access: access, database: databases.meta, slot: state.slot)
    }
}

extension LogWriter {
    func put(_ state: ProjectionState, of name: String) throws {
        var buffer = ByteBuffer(capacity: 128)
        state.append(to: &buffer)
        try setMeta(MetaName.projection(name), Array(buffer.bytes))
    }
}
