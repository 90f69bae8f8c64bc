import Backstitch
import BackstitchStore

extension Command {
    /// Opens a store that is shown and not changed. One of an older format is brought to this one first,
    /// because nothing else of it can be read.
    func open(toShow path: String) throws -> Store {
        do {
            return try Store.open(existing: path, checksPages: true)
        } catch let error as StoreError where error.code == .olderFormat {
            try Store.open(existing: path, access: .readWrite, checksPages: true).close()
            return try Store.open(existing: path, checksPages: true)
        }
    }
}
