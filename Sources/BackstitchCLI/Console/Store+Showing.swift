import Backstitch
import BackstitchStore

extension Store {
    /// Opens a store that is shown and not changed. One of an older format is brought to this one first,
    /// because nothing else of it can be read.
    static func shown(at path: String) throws -> Store {
        do {
            return try open(existing: path, checksPages: true)
        } catch let error as StoreError where error.code == .olderFormat {
            try open(existing: path, access: .readWrite, checksPages: true).close()
            return try open(existing: path, checksPages: true)
        }
    }
}
