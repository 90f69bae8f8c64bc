import CloudKitWire

/// The target of a request, read once for all who want to know something of it.
struct RequestAddress: Sendable {
    let target: RequestTarget
    /// The call of the protocol that it names; nil for pages of the hub, and for what there is not.
    let path: WirePath?

    /// Reads a target; nil where it is none.
    init?(_ text: String) {
        guard let target = RequestTarget(text) else { return nil }
        self.target = target
        path = WirePath(parts: target.path)
    }
}
