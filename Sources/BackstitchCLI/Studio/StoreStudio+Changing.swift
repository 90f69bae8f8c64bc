import Backstitch
import BackstitchLog
import BackstitchStudio
import BackstitchSync

extension StoreStudio {
    private static let author = "studio"

    /// Does what the page was told to.
    ///
    /// - Returns: Whether that changed anything; nil if there is no such action.
    func change(_ call: StudioCall) async throws -> Bool? {
        switch call.name {
        case "conflicts/undo":
            let sequence = try Self.sequence(call, "sequence")
            return try await store.undoConflict(
                sequence, taking: try Self.side(call), author: Self.author,
                context: "undo of conflict \(sequence)")
        case "transactions/undo":
            let transaction = try Self.sequence(call, "transaction")
            try await store.undo(
                transaction: transaction, author: Self.author,
                context: "undo of transaction \(transaction)")
            return true
        case "records/revert":
            let record = try Self.record(call)
            return try await store.write(author: Self.author, context: "revert") { transaction in
                try transaction.revert(record)
            }
        case "parked/retry":
            let record = try Self.record(call)
            return try await store.withLogWriter { log in
                let entity = try log.reader.table(named: record.entity).number
                return try log.marks.release(entity, record.key)
            }
        case "parked/discard":
            let record = try Self.record(call)
            return try await store.withLogWriter(author: Self.author, context: "discard") { log in
                let entity = try log.reader.table(named: record.entity).number
                return try EditDiscard(log).discardParked(entity, record.key)
            }
        default: return nil
        }
    }

    private static func record(_ call: StudioCall) throws(StudioError) -> RecordID {
        RecordID(entity: try call.required("entity"), name: try call.required("record"))
    }

    private static func sequence(_ call: StudioCall, _ name: String) throws(StudioError) -> UInt64 {
        guard let number = try call.number(name, as: UInt64.self) else {
            throw StudioError(400, "\(name) is missing.")
        }
        return number
    }

    private static func side(_ call: StudioCall) throws(StudioError) -> RecordConflict.Side? {
        guard let text = call.text("take") else { return nil }
        guard let side = RecordConflict.Side(rawValue: text) else {
            throw StudioError(400, "take is base, local or server.")
        }
        return side
    }
}
