public import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Takes evicted records back from the service, once no round is under way.
    ///
    /// Records that are here, or that were never here, are left to pulls.
    /// - Returns: the number of records that came back. One that the service has no more does not.
    /// - Throws: `stopped`; `invalidConfiguration` if the store belongs to another zone; `standby`
    ///   while another engine synchronises the store; `offline`; `unreachable` if the service did
    ///   not answer for all of them, what came before it stays; `CancellationError`; `StoreError` if
    ///   the store fails.
    @discardableResult
    public func fetchAgain<Model: Entity>(_ ids: [EntityID<Model>]) async throws -> Int {
        let names = ids.map(\.key.name.description)
        guard case .count(let count) = try await request(.fetchAgain(names)) else {
            preconditionFailure("A fetch ends with a count or an error.")
        }
        return count
    }
}
