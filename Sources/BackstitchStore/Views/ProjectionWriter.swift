import BackstitchCore
import BackstitchLog
import LMDB

/// Keeps the views of projections in the transaction of what they follow from.
final class ProjectionWriter {
    let log: LogWriter
    /// The projections of the store; nil if it has none to keep.
    private(set) var registered: RegisteredProjections?
    /// Those of them that take in what is appended.
    var inline: [InlineProjection] = []

    init(_ log: LogWriter) { self.log = log }

    private var reader: TableReader { log.reader }

    /// Begins to take the operations of the commit into the inline projections that have all operations
    /// before, first of all those of other programs. The others catch up afterwards.
    ///
    /// - Parameter takesMissed: Whether operations of other programs are taken in.
    /// - Returns: whether any were.
    @discardableResult
    func begin(_ registered: RegisteredProjections, takesMissed: Bool = true) throws -> Bool {
        self.registered = registered
        var hasTaken = false
        for projection in registered.all where projection.isInline {
            guard var state = try? StoredProjections(reader).state(projection.name),
                state.version == projection.version, state.isComplete, state.failure == nil
            else { continue }
            if takesMissed, try takeMissed(into: &state, projection) { hasTaken = true }
            guard state.failure == nil, state.checkpoint == log.head, state.clock == log.clock
            else {
                continue
            }
            follow(InlineProjection(projection, state))
        }
        return hasTaken
    }

    private func follow(_ projection: InlineProjection) {
        inline.append(projection)
        log.onAppend = { [unowned self] in try project($0) }
    }

    /// The state of a projection that applies what is appended; nil if it does not.
    func inlineState(of name: String) -> ProjectionState? {
        inline.first { $0.registered.name == name }?.state
    }

    /// Lets a projection take in nothing more of the commit.
    func stopInline(_ name: String) { inline.removeAll { $0.registered.name == name } }

    /// Takes an operation that was applied to the tables into the inline projections.
    private func project(_ operation: OperationView) throws {
        guard operation.kind.changesContent, let table = log.catalog.table(operation.entity),
            let types = registered?.types,
            inline.contains(where: { $0.registered.wants(table) })
        else { return }
        let row = try unsafe reader.row(operation.entity, keyBytes: operation.keyBytes)
        var before: [UInt8]?
        var after: [UInt8]?
        if operation.kind != .delete { after = row.map { unsafe Array($0.bodyBytes) } }
        switch operation.kind {
        case .update: before = try after?.overlaid(by: operation.before)
        case .delete: before = unsafe Array(try operation.before.bytes)
        default: break
        }
        let reader = reader
        try ProjectedChange.with(operation, before, after, table, types) { change in
            for index in inline.indices {
                try inline[index].take(change, in: reader)
            }
        }
    }

    /// Notes how far the inline projections are, in the transaction of what they took in.
    func noteProgress() throws {
        for index in inline.indices {
            let old = inline[index].state
            if let failure = old.failure {
                guard failure.sequence > old.checkpoint + 1 else {
                    try log.put(old, of: inline[index].registered.name)
                    continue
                }
                inline[index].state.checkpoint = failure.sequence - 1
                inline[index].state.clock =
                    try reader.log.withOperation(failure.sequence - 1, \.clock) ?? 0
            } else {
                guard old.checkpoint != log.head else { continue }
                inline[index].state.checkpoint = log.head
                inline[index].state.clock = log.clock
            }
            try log.put(
                inline[index].state, of: inline[index].registered.name)
        }
        inline.removeAll { $0.state.failure != nil }
    }
}

// MARK: Catching up

extension ProjectionWriter {
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
        let active = inlineState(of: registered.name)
        if let active { return active.failure.map { .failed($0) } ?? .done }
        var state = try storedState(of: registered)
        guard state.version == registered.version else { return .otherVersion }
        if let failure = state.failure {
            guard retries else { return .failed(failure) }
            state.failure = nil
        }
        if try !StoredProjections(reader).holds(state) { state.reset() }
        if state.isClearing {
            state.isClearing = try !reader.entries(of: state).clear(limit: budget.entries)
        } else {
            try takeOperations(into: &state, registered, &folder, budget)
        }
        try log.put(state, of: registered.name)
        if let failure = state.failure { return .failed(failure) }
        guard state.isComplete, state.checkpoint == log.head else {
            return .more(checkpoint: state.checkpoint, head: log.head)
        }
        if registered.isInline { follow(InlineProjection(registered, state)) }
        return .done
    }

    /// The stored state of a projection, made if it is missing.
    func storedState(of registered: RegisteredProjection) throws -> ProjectionState {
        if let state = try StoredProjections(reader).state(registered.name) { return state }
        let slots = Set(try StoredProjections(reader).states().map(\.state.slot))
        guard let slot = (1...UInt16.max).first(where: { !slots.contains($0) }) else {
            throw StoreError(.invalidProjection, "A store has 65,535 projections at most.")
        }
        var state = ProjectionState(slot: slot, version: registered.version)
        state.isComplete = log.head == 0
        // What a program left that crashed while it removed another view of the slot.
        state.isClearing = try !reader.entries(of: state).isEmpty
        return state
    }

    /// Applies what other programs wrote since a view was complete, so that it follows this commit in
    /// its transaction. If they wrote more than one step of catching up takes, the background does.
    ///
    /// - Returns: whether anything was taken in.
    func takeMissed(into state: inout ProjectionState, _ registered: RegisteredProjection) throws
        -> Bool
    {
        let budget = CatchUpBudget()
        guard state.checkpoint < log.head, log.head - state.checkpoint <= UInt64(budget.operations),
            try StoredProjections(reader).holds(state)
        else { return false }
        var folder = ChangeFolder()
        try takeOperations(into: &state, registered, &folder, budget)
        try log.put(state, of: registered.name)
        return true
    }

    private func takeOperations(
        into state: inout ProjectionState, _ registered: RegisteredProjection,
        _ folder: inout ChangeFolder, _ budget: CatchUpBudget
    ) throws {
        let compacted = try LogHorizon(reader).compaction.through
        if registered.needsWholeLog, state.checkpoint == 0, compacted > 0 {
            state.failure = ProjectionFailure(
                sequence: 1,
                reason: "It needs the whole log, and operations up to \(compacted) were compacted.")
            return
        }
        let run = CatchUpRun(registered.projection, registered, state, reader, self.registered)
        folder.begin(after: state.checkpoint)
        var left = budget
        let entriesMax = log.access.changeCount + budget.entries
        try unsafe reader.log.visitStored(from: state.checkpoint + 1) { sequence, bytes in
            guard left.operations > 0, left.bytes > 0, log.access.changeCount < entriesMax else {
                return false
            }
            left.operations -= 1
            left.bytes -= bytes.count
            do {
                state.clock = try unsafe run.take(bytes, at: sequence, &folder)
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
        if state.checkpoint == log.head { state.isComplete = true }
    }
}

// MARK: Beginning anew

extension ProjectionWriter {
    /// Begins views anew that lack operations which compaction is about to replace: a baseline does not
    /// tell them what was before, and a record that ended leaves none.
    ///
    /// Compaction waits for the projections of its own store, so that this concerns those that only
    /// other programs have, those that failed, and those that were begun anew meanwhile.
    ///
    /// - Parameter end: The last operation that may be replaced.
    func reset(before end: UInt64) throws {
        try noteProgress()
        for (name, state) in try StoredProjections(reader).states() {
            guard state.checkpoint > 0, state.checkpoint < end else { continue }
            var state = state
            state.reset()
            try log.put(state, of: name)
        }
    }

    /// Begins views anew after a change of the schema that decides which records fit their Swift types,
    /// and how: what a view took in as nothing may be a record now, and the reverse.
    ///
    /// Views that need the whole log stay as they are, and those that this store knows not to want the
    /// entities.
    func reset(afterAdopting catalog: Catalog, _ configured: [any RecordProjection]) throws {
        let changed = CatalogSnapshot(catalog).tables.filter { table in
            catalog.entities[Int(table.number.rawValue) - 1].needsExamination == true
        }
        guard !changed.isEmpty else { return }
        let registered = RegisteredProjections(
            configured, types: TypeTable(schema: StoreSchema(), catalog: log.catalog))
        for (name, state) in try StoredProjections(reader).states() where state.checkpoint > 0 {
            if let projection = registered[name] {
                let isConcerned = changed.contains { projection.wants($0) }
                if projection.needsWholeLog || !isConcerned { continue }
            }
            var state = state
            state.reset()
            try log.put(state, of: name)
        }
    }
}
