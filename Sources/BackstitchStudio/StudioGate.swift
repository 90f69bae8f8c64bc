import BackstitchHubCore

/// Decides by the head of a request what may be done with it.
///
/// Every page that a browser shows can send requests to this machine, and a name that it asks a
/// server for may lead here. So a request has to name this server, to come from its own page, and to
/// carry a cookie that only who was told the address could get.
struct StudioGate: Sendable {
    /// What a request is.
    enum Verdict: Hashable, Sendable {
        /// A file of the page.
        case file(String)
        /// Exchanges the token of the address for a cookie.
        case signIn
        /// Asks what the page needs to know of the session.
        case session
        /// A call that changes nothing, by its name.
        case read(String)
        /// A call that may change something, by its name.
        case act(String)
        /// It is refused with a status, and why.
        case refuse(Int, String)
    }

    /// The header that a page of another origin can't send.
    static let requestHeader = "X-Backstitch-Studio"
    private static let callPrefix = "/api/1/"

    /// The port of the server, which is part of the host names that it answers to; nil if it listens at a
    /// path, because another program chooses the port that leads there.
    let port: UInt16?
    /// What the cookie of a session holds.
    let cookie: String
    /// What the header of a call that changes something holds.
    let requestSecret: String

    /// The name of the cookie: those of a host are shared by all of its ports.
    static func cookieName(_ head: HubRequest) -> String {
        let port = head.header("host")?.split(separator: ":").last.flatMap { UInt16($0) } ?? 80
        return "backstitch-studio-\(port)"
    }

    /// Whether a request names this server.
    private func isHere(_ host: String) -> Bool {
        ["127.0.0.1", "[::1]", "localhost"].contains { name in
            if let port { return host == "\(name):\(port)" }
            guard host.hasPrefix(name) else { return false }
            let rest = host.dropFirst(name.count)
            return rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil
        }
    }

    /// Decides about a request.
    func verdict(on head: HubRequest) -> Verdict {
        guard let host = head.header("host")?.lowercased(), isHere(host) else {
            return .refuse(421, "This server answers to 127.0.0.1, [::1] and localhost.")
        }
        let path = String(head.target.prefix { $0 != "?" })
        guard ["GET", "HEAD", "POST"].contains(head.method) else {
            return .refuse(405, "There are GET and POST.")
        }
        let isPost = head.method == "POST"
        if path == "/", !isPost { return .file("index.html") }
        let isCall = path.hasPrefix(Self.callPrefix)
        let name = String(path.dropFirst(isCall ? Self.callPrefix.count : 1))
        let isSignIn = isCall && isPost && name == "session"
        if isCall, !isSignIn, !hasCookie(head) {
            return .refuse(401, "Open the address that the command printed.")
        }
        guard isOwn(head, host: host) else {
            return .refuse(403, "Only Studio's own page may ask.")
        }
        guard isCall else { return isPost ? .refuse(405, "Files are read.") : .file(name) }
        guard isPost else { return name == "session" ? .session : .read(name) }
        let type = head.header("content-type")?.prefix { $0 != ";" }.lowercased()
        guard type == "application/json" else { return .refuse(415, "Send JSON.") }
        if isSignIn { return .signIn }
        guard Self.isEqual(head.header(Self.requestHeader) ?? "", requestSecret) else {
            return .refuse(403, "The header \(Self.requestHeader) is missing or wrong.")
        }
        return .act(name)
    }

    /// Whether it is the browser's word that the request comes from the page of this server, or from
    /// no page at all.
    private func isOwn(_ head: HubRequest, host: String) -> Bool {
        if let origin = head.header("origin") { return origin.lowercased() == "http://" + host }
        let site = head.header("sec-fetch-site")
        return site == "same-origin" || site == "none"
    }

    private func hasCookie(_ head: HubRequest) -> Bool {
        let name = Self.cookieName(head)
        return head.headers.lazy.filter { $0.isNamed("cookie") }.contains { header in
            header.value.split(separator: ";").contains { pair in
                let parts = pair.split(separator: "=", maxSplits: 1)
                return parts.count == 2 && parts[0].drop { $0 == " " } == name
                    && Self.isEqual(String(parts[1]), cookie)
            }
        }
    }

    /// Compares in a time that does not tell where texts of one length differ.
    static func isEqual(_ left: String, _ right: String) -> Bool {
        guard left.utf8.count == right.utf8.count else { return false }
        return zip(left.utf8, right.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
