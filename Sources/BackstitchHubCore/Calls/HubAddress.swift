import Threading

/// Where clients reach a hub, for the addresses in its replies.
final class HubAddress: Sendable {
    private let configuration: HubConfiguration
    private let serverURL = Locked("http://127.0.0.1")
    private let states = RowMemo<StateRow>()

    init(_ configuration: HubConfiguration) { self.configuration = configuration }

    /// The start of the addresses in replies.
    var baseURL: String { configuration.publicAddress ?? serverURL.withLock { $0 } }

    /// Notes where the hub's server listens.
    func note(serverURL url: String) { serverURL.withLock { $0 = url } }

    /// The addresses of files in a reply that is made now.
    func addresses(
        _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> AssetAddresses {
        AssetAddresses(
            baseURL: baseURL,
            key: try (states.row(StateRow.key, transaction) ?? transaction.state()).tokenKey,
            expires: configuration.now + configuration.limits.addressMilliseconds,
            partition: access.partition)
    }
}
