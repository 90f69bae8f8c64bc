import CloudKitWire

/// The target of a request, read once for all who want to know something of it.
final class RequestAddress: Sendable {
    let target: RequestTarget
    /// The path of the call that it names; nil for pages of the hub, and for what the hub does not have.
    let path: WirePath?
    /// The credentials in the query of a call; nil if the target names no call.
    let credentials: QueryCredentials?
    /// What it leads to, if who read it found that out.
    let route: (any RequestRoute)?

    /// Reads a target; nil if it can't be read.
    ///
    /// - Parameter route: Finds out what the target leads to.
    init?(_ text: String, route: (WirePath?) -> (any RequestRoute)? = { _ in nil }) {
        guard let target = RequestTarget(text) else { return nil }
        self.target = target
        path = WirePath(parts: target.path)
        credentials = path.map { QueryCredentials($0, target) }
        self.route = route(path)
    }
}

/// What the target of a request leads to.
protocol RequestRoute: AnyObject, Sendable {}
