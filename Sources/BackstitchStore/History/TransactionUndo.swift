import BackstitchCore
import BackstitchLog

/// Undoes a transaction within a write.
struct TransactionUndo {
    private let log: LogWriter
    private var reader: TableReader { log.reader }
    private var catalog: CatalogSnapshot { log.catalog }

    init(_ log: LogWriter) { self.log = log }

    /// The most records that a message names.
    private static let namedMax = 10

    func undo(_ id: UInt64, _ policy: WriteTransaction.UndoPolicy) throws -> UndoReport {
        var pending: [(place: StoredRecordID, undo: RecordFold.Undo)] = []
        var skipped: [StoredRecordID] = []
        for step in try LoggedTransaction(id, in: reader).steps().reversed() {
            if !step.isErased, let undo = step.fold.undo(from: try fields(of: step.place)) {
                if undo != .nothing { pending.append((step.place, undo)) }
            } else {
                skipped.append(step.place)
            }
        }
        if policy == .allOrNothing, !skipped.isEmpty { throw changedSince(id, skipped) }
        let before = log.head
        // References are turned away before their targets are deleted, so that no delete rule takes
        // along what is put back; names are free again before records are inserted.
        let ordered =
            pending.filter(\.undo.isUpdate) + pending.filter { $0.undo == .delete }
            + pending.filter(\.undo.isInsert)
        var undone: [StoredRecordID] = []
        for (place, undo) in ordered {
            do {
                try perform(undo, on: place)
                undone.append(place)
            } catch let error as StoreError where policy == .skippingChanged && error.isRefusal {
                skipped.append(place)
            }
        }
        return UndoReport(
            transaction: log.head > before ? log.transaction : nil,
            undone: undone.compactMap(named),
            skipped: skipped.compactMap(named))
    }

    private func perform(_ undo: RecordFold.Undo, on place: StoredRecordID) throws {
        guard let table = catalog.table(place.entity) else { return }
        switch undo {
        case .nothing: break
        case .insert(let fields):
            try log.checkName(place.key, of: place.entity)
            try log.replace(place.key, table, with: fields, origin: .local)
        case .update(let before):
            guard var fields = try fields(of: place) else { return }
            fields.overlay(before)
            try log.replace(place.key, table, with: fields, origin: .local)
        case .delete: _ = try log.delete(place.entity, place.key)
        }
    }

    private func named(_ place: StoredRecordID) -> RecordID? {
        catalog.table(place.entity).map { RecordID(entity: $0.name, key: place.key) }
    }

    private func changedSince(_ id: UInt64, _ places: [StoredRecordID]) -> StoreError {
        let names = places.prefix(Self.namedMax).compactMap(named).map { "\($0.entity) \($0.key)" }
        let more = places.count > names.count ? " and \(places.count - names.count) more" : ""
        return StoreError(
            .changedSince,
            "Transaction \(id) can't be undone, because other writes changed what it left: "
                + "\(names.joined(separator: ", "))\(more). Undo those first, or skip these records."
        )
    }

    /// The fields of a record; nil if it does not exist.
    private func fields(of place: StoredRecordID) throws -> Fields? {
        try reader.row(place.entity, place.key).flatMap { try $0.currentFields }
    }
}

extension RecordFold.Undo {
    fileprivate var isUpdate: Bool { if case .update = self { true } else { false } }
    fileprivate var isInsert: Bool { if case .insert = self { true } else { false } }
}

extension StoreError {
    /// Whether a rule of the data forbids a change, of which nothing was done.
    fileprivate var isRefusal: Bool {
        [.deleteDenied, .invalidName, .crossesZones].contains(code)
    }
}
