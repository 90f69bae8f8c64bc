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
    private var bodies: [StoredRecordID: [UInt8]] = [:]
    private var byteCount = 0

    /// Goes on after an operation; forgets if that is not the last one that was seen.
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

    private mutating func remember(_ place: StoredRecordID, _ body: [UInt8]?) {
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
        let place = StoredRecordID(entity: operation.entity, key: try operation.key)
        var before: [UInt8]?
        var after: [UInt8]?
        switch operation.kind {
        case .insert: after = unsafe Array(operation.afterBytes)
        case .baseline:
            after = unsafe operation.isTombstone ? nil : Array(try operation.after.bytes)
        case .delete: before = unsafe Array(try operation.before.bytes)
        case .update:
            let known = try bodies[place] ?? RecordHistory.body(before: operation, reader)
            before = known
            after = try known.overlaid(by: operation.after)
        case .acknowledge, .park, .release, .forget, .journal: break
        }
        remember(place, after)
        position = operation.sequence
        return (before, after)
    }
}
