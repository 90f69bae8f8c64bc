import BackstitchCore
import LMDB

extension WriteContext {
    /// Empties the tables and applies the whole log again.
    ///
    /// - Parameter progress: Called now and then with the sequence that was applied last.
    func rebuildTables(progress: (UInt64) -> Void = { _ in }) throws {
        try access.clear(databases.tables)
        var projector = Projector(access: access, databases: databases)
        try reader.visitOperations(from: 1) { operation in
            try projector.apply(operation, catalog: catalog)
            if operation.sequence % 4096 == 0 { progress(operation.sequence) }
            return true
        }
    }
}
