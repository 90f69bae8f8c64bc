import BackstitchCore
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
    /// Operations that are read. Grows where writers are faster.
    var operations = 1_024
    /// Bytes of operations that are read.
    var bytes = 4 << 20
    /// Entries that are written, but for those of the last operation, or cleared.
    var entries = 16_384

    static let operationsMax = 65_536

    /// The most that a read takes into a view that is behind, in memory.
    static let ofRead = CatchUpBudget(operations: 16_384, bytes: 16 << 20, entries: 131_072)

    /// Allows for more where the distance to the end of the log did not become less.
    mutating func follow(_ distance: UInt64, before: UInt64) {
        if distance >= before { operations = min(2 * operations, Self.operationsMax) }
    }
}

extension WriteContext {
    /// Takes the next operations of the log into a view, and notes how far it is; safe to call by
    /// several processes in turn, because each begins where the stored checkpoint is.
    ///
    /// - Parameters:
    ///   - folder: What the last step remembered.
    ///   - retries: Whether a view that failed is tried again.
    func catchUp(
        _ registered: RegisteredProjection, _ folder: inout ChangeFolder, retries: Bool,
        budget: CatchUpBudget
    ) throws -> CatchUpStep {
        let active = inlineProjections.first { $0.registered.name == registered.name }
        if let active { return active.state.failure.map { .failed($0) } ?? .done }
        var state = try storedState(of: registered)
        guard state.version == registered.version else { return .otherVersion }
        if let failure = state.failure {
            guard retries else { return .failed(failure) }
            state.failure = nil
        }
        if try !reader.holds(state) { state.reset() }
        if state.isClearing {
            state.isClearing = try !reader.entries(of: state).clear(limit: budget.entries)
        } else {
            try takeOperations(into: &state, registered, &folder, budget)
        }
        try put(state, of: registered.name)
        if let failure = state.failure { return .failed(failure) }
        guard state.isComplete, state.checkpoint == head else {
            return .more(checkpoint: state.checkpoint, head: head)
        }
        if registered.isInline { inlineProjections.append(InlineProjection(registered, state)) }
        return .done
    }

    /// The stored state of a projection, made where it is missing.
    func storedState(of registered: RegisteredProjection) throws -> ProjectionState {
        if let state = try reader.projectionState(registered.name) { return state }
        let slots = Set(try reader.projectionStates().map(\.state.slot))
        guard let slot = (1...UInt16.max).first(where: { !slots.contains($0) }) else {
            throw StoreError(.invalidProjection, "A store has 65,535 projections at most.")
        }
        var state = ProjectionState(slot: slot, version: registered.version)
        state.isComplete = head == 0
        // What a program left that crashed while it removed another view of the slot.
        state.isClearing = try !reader.entries(of: state).isEmpty
        return state
    }

    /// Takes in what other programs wrote since a view was complete, so that it follows this commit in
    /// its transaction. Where they wrote more than one step of catching up takes, the background does.
    ///
    /// - Returns: whether anything was taken in.
    func takeMissed(into state: inout ProjectionState, _ registered: RegisteredProjection) throws
        -> Bool
    {
        let budget = CatchUpBudget()
        guard state.checkpoint < head, head - state.checkpoint <= UInt64(budget.operations),
            try reader.holds(state)
        else { return false }
        var folder = ChangeFolder()
        try takeOperations(into: &state, registered, &folder, budget)
        try put(state, of: registered.name)
        return true
    }

    private func takeOperations(
        into state: inout ProjectionState, _ registered: RegisteredProjection,
        _ folder: inout ChangeFolder, _ budget: CatchUpBudget
    ) throws {
        let compacted = try reader.compaction.through
        if registered.needsWholeLog, state.checkpoint == 0, compacted > 0 {
            state.failure = ProjectionFailure(
                sequence: 1,
                reason: "It needs the whole log, and operations up to \(compacted) were compacted.")
            return
        }
        let run = CatchUpRun(registered.projection, registered, state, reader, projections)
        folder.begin(after: state.checkpoint)
        var left = budget
        let entriesMax = access.changeCount + budget.entries
        try reader.visitStoredOperations(from: state.checkpoint + 1) { sequence, bytes in
            guard left.operations > 0, left.bytes > 0, access.changeCount < entriesMax else {
                return false
            }
            left.operations -= 1
            left.bytes -= bytes.count
            do {
                state.clock = try run.take(bytes, at: sequence, &folder)
                state.checkpoint = sequence
                return true
            } catch let error as LMDBError {
                throw error
            } catch {
                try run.takeBack()
                state.failure = ProjectionFailure(sequence: sequence, error)
                return false
            }
        }
        folder.pass(state.checkpoint)
        if state.checkpoint == head { state.isComplete = true }
    }
}

/// Takes operations of the log into a view.
struct CatchUpRun {
    private let projection: any Projection
    private let registered: RegisteredProjection
    private let reader: TableReader
    private let entries: ViewEntries
    private let types: TypeTable
    private let undo = ViewUndo()

    /// - Parameters:
    ///   - reader: Where the log is read.
    ///   - target: Where the view is; nil for the same place.
    init(
        _ projection: any Projection, _ registered: RegisteredProjection,
        _ state: ProjectionState, _ reader: TableReader, _ projections: RegisteredProjections?,
        target: TableReader? = nil
    ) {
        self.init(
            projection, registered, (target ?? reader).entries(of: state), reader,
            projections?.types ?? TypeTable(schema: Schema(), catalog: reader.catalog))
    }

    /// - Parameter entries: The view.
    init(
        _ projection: any Projection, _ registered: RegisteredProjection, _ entries: ViewEntries,
        _ reader: TableReader, _ types: TypeTable
    ) {
        self.projection = projection
        self.registered = registered
        self.reader = reader
        self.types = types
        self.entries = entries
    }

    /// Takes in a stored operation.
    ///
    /// - Returns: its clock.
    func take(
        _ bytes: UnsafeRawBufferPointer, at sequence: UInt64, _ folder: inout ChangeFolder
    ) throws -> UInt64 {
        try reader.withDescribedDamage(at: sequence) {
            let operation = try OperationView(bytes, sequence: sequence)
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

extension TableReader {
    /// Whether a view is of this log: a log that was salvaged may have other operations under the same
    /// sequences.
    func holds(_ state: ProjectionState) throws -> Bool {
        guard state.checkpoint > 0 else { return true }
        guard try state.checkpoint <= head else { return false }
        if let clock = try? withOperation(state.checkpoint, \.clock) { return clock == state.clock }
        return try state.checkpoint <= compaction.through
    }
}

extension ViewEntries {
    var isEmpty: Bool {
        get throws {
            var isEmpty = true
            try visit(from: [], to: nil) { _, _ in
                isEmpty = false
                return false
            }
            return isEmpty
        }
    }
}
