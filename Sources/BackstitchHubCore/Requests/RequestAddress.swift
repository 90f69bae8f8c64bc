import CloudKitWire

/// The target of a request, read once for all who want to know something of it.
final class RequestAddress: Sendable {
    let target: RequestTarget
    /// The path of the call that it names; nil for pages of the hub, and for what the hub does not have.
    let path: WirePath?
    /// The page that it names; nil if it names none.
    let page: HubPage?
    /// How the hub answers the call that it names; nil if it names none.
    let endpoint: HubEndpoint?
    /// The credentials in the query of a call.
    let credentials: QueryCredentials?

    /// Reads a target; nil if it can't be read.
    init?(_ text: String) {
        guard let target = RequestTarget(text) else { return nil }
        self.target = target
        path = WirePath(parts: target.path)
        page = HubPage.at(text)
        endpoint = path.flatMap { HubEndpoint.at($0.endpoint) }
        credentials = path.map { QueryCredentials($0, target) }
    }
}
