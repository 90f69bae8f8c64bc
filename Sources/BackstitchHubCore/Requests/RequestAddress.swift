import CloudKitWire

/// The target of a request, read once for all who want to know something of it.
struct RequestAddress: Sendable {
    let target: RequestTarget
    /// The path of the call that it names; nil for pages of the hub, and for what the hub does not have.
    let path: WirePath?

    /// Reads a target; nil if it can't be read.
    init?(_ text: String) {
        guard let target = RequestTarget(text) else { return nil }
        self.target = target
        path = WirePath(parts: target.path)
    }
}
