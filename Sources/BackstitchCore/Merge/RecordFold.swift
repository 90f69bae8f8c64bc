/// The fold of the operations of one record that the service does not have yet.
///
/// Operations are added in sequence order, from the first that is not synced. What is to be pushed
/// follows from the two ends alone: inserted and deleted annihilate, updates add up and keep
/// explicit nulls, deleted and inserted again replaces.
package struct RecordFold: Equatable, Sendable {
    /// Whether the record existed before the first operation.
    package private(set) var baseExists = false
    /// The values before the first operation: of the fields that changed, or of all after a delete.
    package private(set) var base = Fields()
    /// Whether ``base`` has all fields, because a delete told them: others were null then.
    private var isBaseComplete = false
    /// Whether the record exists after the last operation.
    package private(set) var exists = false
    /// Whether the record existed before, was deleted, and was made anew.
    package var isAnew: Bool { isBaseComplete && exists }
    /// The values after the last operation of the fields that changed, explicit nulls included; for
    /// a record that did not exist before, all its fields.
    package private(set) var changed = Fields()
    /// The sequences of the first and the last operation; 0 if there is none.
    package private(set) var firstSequence: UInt64 = 0
    package private(set) var lastSequence: UInt64 = 0
    /// The clock of the last operation.
    package private(set) var lastClock: UInt64 = 0

    package init() {}

    /// Adds the next operation that changed the record's content.
    package mutating func add(_ step: OperationStep) {
        precondition(step.sequence > lastSequence, "Operations are folded in sequence order.")
        if firstSequence == 0 {
            firstSequence = step.sequence
            if case .insert = step.change { baseExists = false } else { baseExists = true }
            exists = baseExists
        }
        lastSequence = step.sequence
        lastClock = step.clock
        switch step.change {
        case .insert(let fields):
            exists = true
            var all = fields
            if baseExists { for field in base.ids where all[field] == nil { all[field] = .null } }
            changed = all
        case .update(let before, let after):
            if baseExists { keepBase(before) }
            changed.overlay(after)
        case .delete(let before):
            if baseExists {
                // What changed since the base is known already; the rest still has its base value.
                var unchanged = before
                for field in changed.ids { unchanged[field] = nil }
                keepBase(unchanged)
                isBaseComplete = true
            }
            exists = false
            changed = Fields()
        }
    }

    private mutating func keepBase(_ before: Fields) {
        if isBaseComplete { return }
        for (field, value) in before where base[field] == nil { base[field] = value }
    }

    /// The bytes that the values take in memory, roughly.
    package var byteCount: Int { base.byteCount + changed.byteCount }

    /// The kind of change that the service will get.
    package enum Push: Equatable, Sendable {
        /// Nothing: the ends are the same.
        case nothing
        case create(Fields)
        /// The fields that differ from the base, explicit nulls included.
        case update(Fields)
        case delete
    }

    package var push: Push {
        switch (baseExists, exists) {
        case (false, false): return .nothing
        case (false, true): return .create(changed.withoutNulls)
        case (true, false): return .delete
        case (true, true):
            var differing = Fields()
            for (field, value) in changed where base.value(field) != value {
                differing[field] = value
            }
            return differing.isEmpty ? .nothing : .update(differing)
        }
    }
}

/// One operation that changed a record's content, as values.
package struct OperationStep: Equatable, Sendable {
    package enum Change: Equatable, Sendable {
        case insert(Fields)
        case update(before: Fields, after: Fields)
        case delete(before: Fields)

        /// The record as it was before; nil if it did not exist.
        package func undone(from after: Fields?) -> Fields? {
            switch self {
            case .insert: return nil
            case .delete(let before): return before
            case .update(let before, _):
                var fields = after
                fields?.overlay(before)
                return fields
            }
        }

        /// The record as it is afterwards; nil if it does not exist.
        package func applied(to before: Fields?) -> Fields? {
            switch self {
            case .insert(let fields): return fields
            case .delete: return nil
            case .update(_, let after):
                var fields = before
                fields?.overlay(after)
                return fields
            }
        }
    }

    package var sequence: UInt64
    package var clock: UInt64
    package var change: Change
    package var origin: OperationOrigin
    /// Whether the service's version took the place of one that the service had lost.
    package var replacesLost: Bool
    /// Whether what was here when the service lost its latest state is sent again with it, or on top of it.
    package var isResent: Bool

    package init(
        sequence: UInt64, clock: UInt64 = 0, change: Change, origin: OperationOrigin = .local,
        replacesLost: Bool = false, isResent: Bool = false
    ) {
        self.sequence = sequence
        self.clock = clock
        self.change = change
        self.origin = origin
        self.replacesLost = replacesLost
        self.isResent = isResent
    }

    /// Decodes a stored operation that changes content; not the baseline of a tombstone.
    package init(_ operation: OperationView) throws(OperationDamage) {
        sequence = operation.sequence
        clock = operation.clock
        origin = operation.origin
        replacesLost = operation.flags.contains(.replacesLost)
        isResent = operation.flags.contains(.isResent)
        do throws(FieldError) {
            switch operation.kind {
            // Before a baseline there is nothing, as before an insert.
            case .insert, .baseline:
                change = .insert(try Fields(Self.packed(operation, after: true)))
            case .update:
                change = .update(
                    before: try Fields(Self.packed(operation, after: false)),
                    after: try Fields(Self.packed(operation, after: true)))
            case .delete: change = .delete(before: try Fields(Self.packed(operation, after: false)))
            case .acknowledge, .park, .release, .forget, .journal:
                preconditionFailure("Only operations that change content are folded.")
            }
        } catch {
            throw .fields
        }
    }

    /// The operation without what it did to some fields.
    package func without(_ fields: Set<FieldID>) -> OperationStep {
        guard !fields.isEmpty else { return self }
        var step = self
        switch change {
        case .insert(let after): step.change = .insert(after.without(fields))
        case .update(let before, let after):
            step.change = .update(before: before.without(fields), after: after.without(fields))
        case .delete(let before): step.change = .delete(before: before.without(fields))
        }
        return step
    }

    private static func packed(
        _ operation: OperationView, after: Bool
    ) throws(FieldError) -> PackedFields {
        guard let fields = try? after ? operation.after : operation.before else {
            throw FieldError(.damaged)
        }
        return fields
    }
}
