public import BackstitchCore
import BackstitchStore

extension SyncEngine {
    /// Fetches evicted records from the service again, when no round is under way.
    ///
    /// Skips records that are in the store or never were: pulls bring them.
    /// - Returns: the number of records that came back; the service may have lost some.
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
