import CloudKitWire

/// A call of the protocol as the hub answers it: a row of the table in `HubEndpoint+Table.swift`.
///
/// Routing, bounds of bodies, turns, metrics and the checks of the description and of costs follow
/// from the rows. It is a class because each request hands it on several times.
final class HubEndpoint: Sendable {
    /// Who may make a call. It is checked before the body is read.
    enum Right: Sendable {
        /// Everyone who may use the database.
        case any
        /// Everyone who may write.
        case author
        /// Everyone who may use the database, if it has feeds.
        case feeds
        /// A user who is signed in.
        case user
        /// A user who is signed in, or a server key, which counts as one.
        case userOrServer
    }

    /// What a call costs at most, and so whose turn it waits for.
    enum Cost: Sendable {
        /// A read of a page.
        case page
        /// A read of as many rows as there are.
        case scan
        /// A write of as much as the items of the request.
        case write
    }

    /// What answers a call that was allowed.
    enum Handler: Sendable {
        /// A database, which is made on first use.
        case reads(
            @Sendable (Hub, HubCall, DatabaseAccess, any HubReading) throws -> HubResponse)
        /// The users, whatever database the path names.
        case readsUsers(@Sendable (Hub, HubCall, any HubReading) throws -> HubResponse)
        /// A database, which is made on first use.
        case writes(@Sendable (Hub, HubCall, DatabaseAccess) async throws -> HubResponse)
        /// The devices; the path names no database.
        case writesDevices(@Sendable (Hub, HubCall) async throws -> HubResponse)
    }

    /// The end of its path, by which the metrics know it too.
    let path: Endpoint
    /// What it does, in a few words, as the description tells it.
    let summary: String
    /// Whether it may come without a body, by GET.
    let takesGet: Bool
    /// The schema of its body in the description; nil if the body is not read.
    let request: String?
    /// Whether its body may be left out, which then counts as one without members.
    let mayBeEmpty: Bool
    /// The schema of its reply in the description; nil if all it gets is a failure.
    let reply: String?
    let right: Right
    let cost: Cost
    /// The bound of the bytes of its body.
    let bodyBytes: any KeyPath<HubLimits, Int> & Sendable
    let handler: Handler
    /// The methods that it is called by.
    let methods: [String]

    private init(
        _ path: Endpoint, _ summary: String, takesGet: Bool = false, request: String? = nil,
        mayBeEmpty: Bool = false, reply: String? = nil,
        _ right: Right, _ cost: Cost,
        bodyBytes: any KeyPath<HubLimits, Int> & Sendable = \.callBodyBytes, _ handler: Handler
    ) {
        (self.path, self.summary, self.takesGet) = (path, summary, takesGet)
        (self.request, self.mayBeEmpty, self.reply) = (request, mayBeEmpty, reply)
        (self.right, self.cost, self.bodyBytes) = (right, cost, bodyBytes)
        self.handler = handler
        methods = takesGet ? ["GET", "POST"] : ["POST"]
    }

    /// The threads that read for it; nil for a call that writes.
    var lane: WorkPool.Lane? {
        switch cost {
        case .page: .page
        case .scan: .scan
        case .write: nil
        }
    }

    /// The row of a path; nil if the hub has no such call.
    static func at(_ path: Endpoint) -> HubEndpoint? { byPath[path] }

    private static let byPath = Dictionary(uniqueKeysWithValues: all.map { ($0.path, $0) })
}

// MARK: Rows

/// The type of a request, and the schema that describes it.
struct RequestSchema<Request: WireBody & Sendable>: Sendable {
    let name: String
    let mayBeEmpty: Bool

    /// The schema that is named as the type, unless another name is given.
    static func body(
        _ type: Request.Type, as name: String? = nil, mayBeEmpty: Bool = false
    ) -> Self {
        Self(name: name ?? "\(type)", mayBeEmpty: mayBeEmpty)
    }
}

extension HubEndpoint {
    /// A call that reads a database.
    static func read<Request>(
        _ path: Endpoint, _ summary: String, right: Right = .any, _ request: RequestSchema<Request>,
        reply: String, _ cost: Cost,
        _ answer:
            @escaping @Sendable (Hub) -> (Request, HubCall, DatabaseAccess, any HubReading) throws
            ->
            HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, request: request.name, mayBeEmpty: request.mayBeEmpty, reply: reply,
            right, cost,
            .reads { try answer($0)($1.decode(), $1, $2, $3) })
    }

    /// A call that reads a database and takes nothing.
    static func list(
        _ path: Endpoint, _ summary: String, reply: String, _ cost: Cost,
        _ answer:
            @escaping @Sendable (Hub) -> (HubCall, DatabaseAccess, any HubReading) throws ->
            HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, takesGet: true, reply: reply, .any, cost,
            .reads { try answer($0)($1, $2, $3) })
    }

    /// A call that reads users.
    static func readUsers<Request>(
        _ path: Endpoint, _ summary: String, takesGet: Bool = false,
        _ request: RequestSchema<Request>,
        reply: String, _ cost: Cost,
        _ answer:
            @escaping @Sendable (Hub) -> (Request, HubCall, any HubReading) throws -> HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, takesGet: takesGet, request: request.name,
            mayBeEmpty: request.mayBeEmpty, reply: reply, .user, cost,
            .readsUsers { try answer($0)($1.decode(), $1, $2) })
    }

    /// A call that reads users and takes nothing.
    static func listUsers(
        _ path: Endpoint, _ summary: String, right: Right = .user, reply: String, _ cost: Cost,
        _ answer: @escaping @Sendable (Hub) -> (HubCall, any HubReading) throws -> HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, takesGet: true, reply: reply, right, cost,
            .readsUsers { try answer($0)($1, $2) })
    }

    /// A call that writes a database.
    static func write<Request>(
        _ path: Endpoint, _ summary: String, right: Right = .any, _ request: RequestSchema<Request>,
        bodyBytes: any KeyPath<HubLimits, Int> & Sendable = \.callBodyBytes, reply: String,
        _ answer:
            @escaping @Sendable (Hub) -> (Request, HubCall, DatabaseAccess) async throws ->
            HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, request: request.name, mayBeEmpty: request.mayBeEmpty, reply: reply,
            right, .write, bodyBytes: bodyBytes,
            .writes { try await answer($0)($0.threads.pages.decode($1), $1, $2) })
    }

    /// A call about devices.
    static func writeDevices<Request>(
        _ path: Endpoint, _ summary: String, _ request: RequestSchema<Request>, reply: String,
        _ answer: @escaping @Sendable (Hub) -> (Request, HubCall) async throws -> HubResponse
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, request: request.name, mayBeEmpty: request.mayBeEmpty, reply: reply,
            .any, .write,
            .writesDevices { try await answer($0)($0.threads.pages.decode($1), $1) })
    }

    /// A call that the hub knows and does not support.
    static func refused(
        _ path: Endpoint, _ summary: String, _ reason: String
    ) -> HubEndpoint {
        HubEndpoint(
            path, summary, .any, .write, .writes { _, _, _ in throw WireError(.badRequest, reason) }
        )
    }
}

extension WorkPool {
    /// Bodies up to this many bytes are read by the task of the request; larger ones by the threads
    /// that read.
    private static let quickBodyBytes = 64 << 10

    /// The body of a call that writes.
    fileprivate func decode<Request: WireBody & Sendable>(
        _ call: HubCall
    ) async throws -> Request {
        guard call.body.count > Self.quickBodyBytes else { return try call.decode() }
        return try await run(.page, call.work) { try call.decode() }
    }
}

extension HubEndpoint.Right {
    /// Checks whether a caller has the right.
    func check(
        _ principal: Principal, _ scope: DatabaseAccess.Scope
    ) throws(WireError) {
        switch (self, principal) {
        case (.any, _), (.userOrServer, .user), (.userOrServer, .server), (.user, .user): return
        case (.author, _): _ = try principal.requiredAuthor
        case (.feeds, _):
            guard scope != .everybodys else {
                throw WireError(.badRequest, "The public database has no change feed. Query it.")
            }
        case (.user, .server):
            throw WireError(.accessDenied, "Server keys can't ask for users.")
        case (.user, .anonymous), (.userOrServer, .anonymous):
            throw WireError(.authenticationRequired, "request needs authorization")
        }
    }
}
