import BackstitchCore
import BackstitchLog
import LMDB

extension LogWriter {
    /// Empties the tables and applies the whole log again.
    ///
    /// - Parameter progress: Called now and then with the number of operations that were applied.
    func rebuildTables(progress: (Int) -> Void = { _ in }) throws {
        if let problem = try reader.lostEnd() {
            throw StoreError(.damaged, problem + " Run 'backstitch doctor' on the store.")
        }
        hasWrittenDirectly = true
        try access.clear(databases.tables)
        var projector = Projector(access: access, databases: databases)
        var done = 0
        try reader.visitOperations(from: 1) { operation in
            try projector.apply(operation, catalog: catalog)
            done += 1
            if done % WorkProgress.interval == 0 { progress(done) }
            return true
        }
        try recountOutbox()
    }
}
