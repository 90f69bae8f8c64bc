import Backstitch
import BackstitchLog
import BackstitchStudio
import BackstitchSync
import Terminal

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
            let record = try self.record(call)
            return try await store.write(author: Self.author, context: "revert") { transaction in
                try transaction.revert(record)
            }
        case "records/edit":
            return try await edit(call)
        case "parked/retry":
            let record = try self.record(call)
            return try await store.withLogWriter { log in
                let entity = try log.reader.table(named: record.entity).number
                return try log.marks.release(entity, record.key)
            }
        case "parked/discard":
            let record = try self.record(call)
            return try await store.withLogWriter(author: Self.author, context: "discard") { log in
                let entity = try log.reader.table(named: record.entity).number
                return try Discard(log).discardParked(entity, record.key)
            }
        default: return nil
        }
    }

    /// Gives some attributes of a record other values, as a save of the app would; what the service
    /// refused is then pushed again.
    private func edit(_ call: StudioCall) async throws -> Bool {
        let id = try self.record(call)
        let known = try Self.sequence(call, "lastSequence")
        let text = try call.required("values")
        guard let changes = try? JSON.value([String: RecordValue?].self, Array(text.utf8)),
            !changes.isEmpty
        else { throw StudioError(400, "values is no object of values.") }
        guard let entity = store.catalog.entities.first(where: { $0.name == id.entity }) else {
            throw StudioError(404, "The store has no entity '\(id.entity.printable)'.")
        }
        let columns = entity.attributes.filter(\.isDeclared)
        for name in changes.keys where !columns.contains(where: { $0.name == name }) {
            throw StudioError(400, "\(id.entity) has no attribute '\(name.printable)'.")
        }
        return try await store.write(author: Self.author, context: "edit") {
            [store] transaction in
            guard let record = try transaction.record(id) else {
                throw StudioError(409, "The record is not there any more.")
            }
            guard record.lastSequence == known else {
                throw StudioError(409, "The record was changed meanwhile. Look at it again first.")
            }
            var values = QueryCommand.document(record, columns, of: store).values
            for (name, value) in changes { values[name] = value ?? .null }
            return try transaction.save(values, as: id.key, of: id.entity) != .unchanged
        }
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
