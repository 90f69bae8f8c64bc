extension RecordFold {
    /// What takes a record back to where it was before the operations.
    package enum Undo: Equatable, Sendable {
        /// It is there: the operations cancel each other out.
        case nothing
        case insert(Fields)
        /// The fields that differ with their values before, explicit nulls included.
        case update(Fields)
        case delete
    }

    /// Decides how the operations are undone; nil if the record is not any more what they left.
    ///
    /// Of an update only the fields count that it changed.
    /// - Parameter current: The record's fields now; nil if it does not exist.
    package func undo(from current: Fields?) -> Undo? {
        switch (baseExists, exists) {
        case (false, false): return .nothing
        case (false, true): return current == changed ? .delete : nil
        case (true, false): return current == nil ? .insert(base.withoutNulls) : nil
        case (true, true):
            guard let current else { return nil }
            var before = Fields()
            for (field, value) in changed {
                guard current.value(field) == value else { return nil }
                if base.value(field) != value { before[field] = base.value(field) }
            }
            return before.isEmpty ? .nothing : .update(before)
        }
    }
}
