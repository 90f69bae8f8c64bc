import BackstitchCore
import BackstitchLog
import LMDB

/// How one step of catching up ended.
enum CatchUpStep: Equatable {
    /// There is more to do.
    case more(checkpoint: UInt64, head: UInt64)
    /// The view has every operation of the log.
    case done
    /// It stands still.
    case failed(ProjectionFailure)
    /// What is stored is of another version, which another process built.
    case otherVersion
}

/// The most that one commit does for a view, so that writers wait little.
struct CatchUpBudget {
    /// Operations that are read. Grows if writers are faster.
    var operations = 1_024
    /// Bytes of operations that are read.
    var bytes = 4 << 20
    /// Entries that are written, but for those of the last operation, or cleared.
    var entries = 16_384

    static let operationsMax = 65_536

    /// The most that a read takes into a view that is behind, in memory.
    static let ofRead = CatchUpBudget(operations: 16_384, bytes: 16 << 20, entries: 131_072)

    /// Allows for more if the distance to the end of the log did not become less.
    mutating func follow(_ distance: UInt64, before: UInt64) {
        if distance >= before { operations = min(2 * operations, Self.operationsMax) }
    }
}

/// Takes operations of the log into a view.
struct CatchUpRun {
    private let projection: any RecordProjection
    private let registered: RegisteredProjection
    private let reader: TableReader
    private let entries: ViewEntries
    private let types: TypeTable
    private let undo = ViewUndo()

    /// - Parameters:
    ///   - reader: Where the log is read.
    ///   - target: Where the view is; nil for the same place.
    init(
        _ projection: any RecordProjection, _ registered: RegisteredProjection,
        _ state: ProjectionState, _ reader: TableReader, _ projections: RegisteredProjections?,
        target: TableReader? = nil
    ) {
        self.init(
            projection, registered, (target ?? reader).entries(of: state), reader,
            projections?.types ?? TypeTable(schema: StoreSchema(), catalog: reader.catalog))
    }

    /// - Parameter entries: The view.
    init(
        _ projection: any RecordProjection, _ registered: RegisteredProjection,
        _ entries: ViewEntries,
        _ reader: TableReader, _ types: TypeTable
    ) {
        self.projection = projection
        self.registered = registered
        self.reader = reader
        self.types = types
        self.entries = entries
    }

    /// Applies a stored operation.
    ///
    /// - Returns: its clock.
    func take(
        _ bytes: UnsafeRawBufferPointer, at sequence: UInt64, _ folder: inout ChangeFolder
    ) throws -> UInt64 {
        try StoreError.describingDamage(at: sequence) {
            let operation = try unsafe OperationView(bytes, sequence: sequence)
            guard operation.kind.changesContent, let table = reader.catalog.table(operation.entity),
                registered.wants(table)
            else { return operation.clock }
            let (before, after) = try folder.fold(operation, reader)
            try ProjectedChange.with(operation, before, after, table, types) { change in
                try projection.apply(change, to: ViewEditor(entries, undo, reader.catalog))
            }
            undo.forget()
            return operation.clock
        }
    }

    /// Takes back what the last operation wrote.
    func takeBack() throws { try undo.takeBack(in: entries) }
}

extension ViewEntries {
    var isEmpty: Bool {
        get throws {
            var isEmpty = true
            try unsafe visit(from: [], to: nil) { _, _ in
                isEmpty = false
                return false
            }
            return isEmpty
        }
    }
}
