import BackstitchCore
import BackstitchLog

extension WriteTransaction {
    /// Undoes a transaction of the log by new operations, which are synced as any others.
    ///
    /// Each record gets the values back that it had before; a record that was new is deleted, with
    /// its delete rules, and one that was deleted is inserted again. What the transaction did not
    /// change stays. The undo of an undo is the redo.
    ///
    /// - Parameters:
    ///   - id: The transaction: the sequence of its first operation.
    ///   - policy: What is done if a record is not any more what the transaction left.
    /// - Throws: `changedSince` if there are such records, which are named; `notInLog`,
    ///   `deleteDenied`, `invalidName` if another record has the name by now.
    @discardableResult
    public func undo(
        transaction id: UInt64, _ policy: UndoPolicy = .allOrNothing
    ) throws -> UndoReport {
        try log.undo(transaction: id, policy)
    }
}

extension Store {
    /// Undoes a transaction in a write of its own; see ``WriteTransaction/undo(transaction:_:)``.
    ///
    /// - Parameters:
    ///   - author: As for a write.
    ///   - context: As for a write.
    @discardableResult
    public func undo(
        transaction id: UInt64, _ policy: UndoPolicy = .allOrNothing, author: String? = nil,
        context: String = ""
    ) async throws -> UndoReport {
        try await withLogWriter(author: author, context: context) {
            try $0.undo(transaction: id, policy)
        }
    }

    /// Does again what an undo took back, by new operations; as an undo of what the undo did.
    ///
    /// - Parameter undo: What the undo reported. One that changed nothing leaves nothing to redo.
    /// - Throws: as ``WriteTransaction/undo(transaction:_:)``.
    @discardableResult
    public func redo(
        _ undo: UndoReport, _ policy: UndoPolicy = .allOrNothing, author: String? = nil,
        context: String = ""
    ) async throws -> UndoReport {
        guard let transaction = undo.transaction else {
            return UndoReport(transaction: nil, undone: [], skipped: [])
        }
        return try await self.undo(
            transaction: transaction, policy, author: author, context: context)
    }
}

extension LogWriter {
    /// The most records that a message names.
    private static let namedMax = 10

    fileprivate func undo(transaction id: UInt64, _ policy: UndoPolicy) throws -> UndoReport {
        var pending: [(place: RecordPlace, undo: RecordFold.Undo)] = []
        var skipped: [RecordPlace] = []
        for step in try reader.steps(ofTransaction: id).reversed() {
            if let undo = step.fold.undo(from: try reader.fields(of: step.place)) {
                if undo != .nothing { pending.append((step.place, undo)) }
            } else {
                skipped.append(step.place)
            }
        }
        if policy == .allOrNothing, !skipped.isEmpty { throw changedSince(id, skipped) }
        let before = head
        // References are turned away before their targets are deleted, so that no delete rule takes
        // along what is put back; names are free again before records are inserted.
        let ordered =
            pending.filter(\.undo.isUpdate) + pending.filter { $0.undo == .delete }
            + pending.filter(\.undo.isInsert)
        var undone: [RecordPlace] = []
        for (place, undo) in ordered {
            do {
                try perform(undo, on: place)
                undone.append(place)
            } catch let error as StoreError where policy == .skippingChanged && error.isRefusal {
                skipped.append(place)
            }
        }
        return UndoReport(
            transaction: head > before ? transaction : nil, undone: undone.compactMap(named),
            skipped: skipped.compactMap(named))
    }

    private func perform(_ undo: RecordFold.Undo, on place: RecordPlace) throws {
        guard let table = catalog.table(place.entity) else { return }
        switch undo {
        case .nothing: break
        case .insert(let fields):
            try checkName(place.key, of: place.entity)
            try replace(
                place.key, table, with: fields, origin: .local, stamp: nil, conflict: nil)
        case .update(let before):
            guard var fields = try reader.fields(of: place) else { return }
            fields.overlay(before)
            try replace(
                place.key, table, with: fields, origin: .local, stamp: nil, conflict: nil)
        case .delete: _ = try delete(place.entity, place.key)
        }
    }

    private func named(_ place: RecordPlace) -> UndoReport.Record? {
        catalog.table(place.entity).map { UndoReport.Record(entity: $0.name, key: place.key) }
    }

    private func changedSince(_ id: UInt64, _ places: [RecordPlace]) -> StoreError {
        let names = places.prefix(Self.namedMax).compactMap(named).map { "\($0.entity) \($0.key)" }
        let more = places.count > names.count ? " and \(places.count - names.count) more" : ""
        return StoreError(
            .changedSince,
            "Transaction \(id) can't be undone, because other writes changed what it left: "
                + "\(names.joined(separator: ", "))\(more). Undo those first, or skip these records."
        )
    }
}

extension TableReader {
    /// The fields of a record; nil if it does not exist.
    fileprivate func fields(of place: RecordPlace) throws -> Fields? {
        guard let row = try row(place.entity, place.key), !row.isDeleted else { return nil }
        return try row.fields.map { try Fields($0) }
    }
}

extension RecordFold.Undo {
    fileprivate var isUpdate: Bool { if case .update = self { true } else { false } }
    fileprivate var isInsert: Bool { if case .insert = self { true } else { false } }
}

extension StoreError {
    /// Whether a rule of the data forbids a change, of which nothing was done.
    fileprivate var isRefusal: Bool { code == .deleteDenied || code == .invalidName }
}
