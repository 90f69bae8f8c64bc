import BackstitchHubCore

/// The proxies whose word counts for where a request comes from.
///
/// A proxy adds the address that it was called from at the end of `X-Forwarded-For`; what stands
/// before it may be made up by the client.
struct TrustedProxies: Sendable {
    private static let header = "x-forwarded-for"

    private let networks: [Network]

    /// Reads addresses and networks.
    ///
    /// - Throws: A failure that names the first text that is neither.
    init(_ texts: [String]) throws(HubError) {
        var networks: [Network] = []
        for text in texts {
            guard let network = Network(text) else {
                throw HubError(
                    .invalid,
                    "'\(text)' is no address of a proxy. Give one such as 127.0.0.1, or a network "
                        + "such as 10.0.0.0/8.")
            }
            networks.append(network)
        }
        self.networks = networks
    }

    /// Where a request comes from: the last address on its way that is no proxy's.
    ///
    /// - Parameters:
    ///   - peer: Whom the connection is from.
    ///   - headers: The headers of the request.
    func client(peer: String, headers: [HubRequest.Header]) -> String {
        guard isTrusted(peer) else { return peer }
        let hops = headers.filter { $0.isNamed(Self.header) }
            .flatMap { $0.value.split(separator: ",") }
        var client = peer
        for hop in hops.reversed() {
            let host = Self.host(hop)
            guard NetworkAddress(host) != nil else { return client }
            client = host
            if !isTrusted(host) { return client }
        }
        return client
    }

    /// Puts the address of the client into a head that has that of its connection, and notes whether a
    /// proxy told it.
    func readClient(of head: inout HubRequest) {
        guard !networks.isEmpty, isTrusted(head.remoteAddress) else { return }
        head.isFromProxy = true
        head.remoteAddress = client(peer: head.remoteAddress, headers: head.headers)
    }

    /// Whether an address is a proxy's.
    func isTrusted(_ host: String) -> Bool {
        guard !networks.isEmpty, let address = NetworkAddress(host) else { return false }
        return networks.contains { $0.contains(address) }
    }

    /// The address of an entry, which some proxies write with a port: `1.2.3.4:80`, `[::1]:80`.
    private static func host(_ entry: Substring) -> String {
        let text = entry.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return String(parts.count == 2 ? parts[0] : text)
    }
}
