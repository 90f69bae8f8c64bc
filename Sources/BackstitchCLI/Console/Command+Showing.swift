import Backstitch
import BackstitchStore
import Terminal

extension Command {
    /// Opens a store in which nothing is to be changed, its format included.
    ///
    /// - Throws: ``Refusal`` for a store of an older format, with the command that is to come first.
    func open(asItIs path: String) throws -> Store {
        do {
            return try Store.open(existing: path, checksPages: true)
        } catch let error as StoreError where error.code == .olderFormat {
            throw Refusal(
                "The store at '\(path.printable)' has an older format, and nothing is to be changed in "
                    + "it. '\(About.name) verify \(path.printable)' brings it to the present one."
            )
        }
    }

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
