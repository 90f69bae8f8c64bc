import Backstitch
import BackstitchStore

extension Command {
    /// Opens a store that is shown and not changed, and checks its pages.
    func open(toShow path: String) throws -> Store {
        try Store.open(existing: path, checksPages: true)
    }
}
