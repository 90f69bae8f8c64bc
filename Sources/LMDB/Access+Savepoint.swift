import CLMDB

/// What the open savepoints of a write transaction replaced, oldest first.
@usableFromInline
struct UndoLog {
    /// The values before each change; nil if the key was not there.
    fileprivate var replaced: [(database: Database, key: [UInt8], value: [UInt8]?)] = []
    /// How many savepoints are open.
    @usableFromInline fileprivate(set) var depth = 0

    /// Ends all savepoints.
    mutating func end() { self = UndoLog() }
}

extension Access {
    /// Runs a part of a write transaction; if it throws, everything that it changed is as it was before.
    ///
    /// Parts may be nested. The memory is that of the keys and values which the part replaces; ``clear(_:)``
    /// can't be taken back, and traps in a part.
    ///
    /// - Throws: what the part throws. If the change back fails, the transaction is spoiled.
    package func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        guard let state else { preconditionFailure("A read transaction has no savepoints.") }
        let mark = state.pointee.undo.replaced.count
        state.pointee.undo.depth += 1
        do {
            let result = try body()
            state.pointee.undo.depth -= 1
            if state.pointee.undo.depth == 0 { state.pointee.undo.end() }
            return result
        } catch {
            try takeBack(to: mark)
            throw error
        }
    }

    private func takeBack(to mark: Int) throws(LMDBError) {
        guard let state else { return }
        let replaced = state.pointee.undo.replaced[mark...]
        let depth = state.pointee.undo.depth - 1
        // What is changed back is nothing to change back.
        state.pointee.undo.depth = 0
        for (database, key, value) in replaced.reversed() {
            try write(key, value, in: database)
        }
        state.pointee.undo.replaced.removeSubrange(mark...)
        state.pointee.undo.depth = depth
    }

    private func write(
        _ key: [UInt8], _ value: [UInt8]?, in database: Database
    ) throws(LMDBError) {
        var failure: LMDBError?
        key.withUnsafeBytes { key in
            do throws(LMDBError) {
                guard let value else {
                    try delete(key, in: database)
                    return
                }
                failure = value.withUnsafeBytes { value in
                    do throws(LMDBError) {
                        try put(key, value, in: database)
                        return nil
                    } catch { return error }
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Notes what a change is about to replace, if a savepoint is open.
    @inlinable
    func willChange(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) {
        guard let state, state.pointee.undo.depth > 0 else { return }
        try noteReplaced(key, in: database)
    }

    @usableFromInline
    func noteReplaced(
        _ key: UnsafeRawBufferPointer, in database: Database
    ) throws(LMDBError) {
        let value = try get(key, in: database).map { [UInt8]($0) }
        state?.pointee.undo.replaced.append((database, [UInt8](key), value))
    }
}
