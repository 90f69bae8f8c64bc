import CPostgreSQL
import Glibc

/// A connection to a PostgreSQL server, in pipeline mode: what is sent together takes one round trip.
///
/// Calls wait for the server on the calling thread. After a failure the connection is of no more use:
/// who had it closes it, by which the server undoes what was not committed.
@safe final class Connection: @unchecked Sendable {  // One thread at a time works with it.
    /// How long the server may say nothing, in milliseconds. Its own limits are shorter.
    private static let silenceMillisecondsMax: Int32 = 30_000

    private let handle: OpaquePointer
    private var prepared: Set<Statement> = []
    /// The steps that were sent and whose answers were not read yet.
    private var owed: [[Step]] = []
    /// How many round trips were waited for.
    private(set) var roundTrips = 0

    /// What an answer comes for.
    private enum Step {
        case prepare(Statement)
        case call
    }

    /// Connects.
    ///
    /// - Parameter settings: What holds for the session; see ``SessionSettings``.
    init(_ address: PostgreSQLAddress, _ settings: SessionSettings) throws(PostgreSQLError) {
        // What comes before the address it may replace, and what comes after replaces it.
        var options = [
            ("connect_timeout", "5"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
            ("keepalives_count", "3"), ("tcp_user_timeout", "15000"), ("dbname", address.text),
            ("fallback_application_name", "backstitch-hub"), ("client_encoding", "UTF8"),
        ]
        if let password = address.password { options.append(("password", password)) }
        unsafe handle = try unsafe Self.connect(options)
        // The library would write what the server says of itself to the standard error.
        unsafe PQsetNoticeProcessor(handle, { _, _ in }, nil)
        guard unsafe PQsetnonblocking(handle, 1) == 0, unsafe PQenterPipelineMode(handle) == 1
        else {
            throw PostgreSQLError(.away, "The connection has no pipeline mode.")
        }
        _ = try roundTrip([settings.call])
        roundTrips = 0
    }

    deinit { unsafe PQfinish(handle) }

    private static func connect(
        _ options: [(name: String, value: String)]
    ) throws(PostgreSQLError) -> OpaquePointer {
        let words = unsafe options.map { unsafe (strdup($0.name), strdup($0.value)) }
        defer {
            unsafe words.forEach { word in
                unsafe free(word.0)
                unsafe free(word.1)
            }
        }
        let names = unsafe words.map { unsafe UnsafePointer($0.0) } + [nil]
        let values = unsafe words.map { unsafe UnsafePointer($0.1) } + [nil]
        guard let handle = unsafe PQconnectdbParams(names, values, 1) else {
            throw PostgreSQLError(.away, "There is no memory for a connection.")
        }
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            let failure = unsafe Self.failure(of: handle)
            unsafe PQfinish(handle)
            throw failure
        }
        return unsafe handle
    }

    /// Why the connection is of no use.
    private static func failure(of handle: OpaquePointer) -> PostgreSQLError {
        let words = unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? ""
        let lines = words.split(whereSeparator: \.isNewline).joined(separator: " ")
        return PostgreSQLError(.away, lines.isEmpty ? "The connection was cut." : lines)
    }

    /// The descriptor to wait for.
    var socket: Int32 { unsafe PQsocket(handle) }

    // MARK: Round trips

    /// Sends calls together, and waits for their answers.
    func roundTrip(_ calls: [BoundStatement]) throws(PostgreSQLError) -> [Rows] {
        try settle()
        roundTrips += 1
        return try receive(send(calls))
    }

    /// Sends calls whose answers nobody needs; the next round trip takes them.
    func sendOnly(_ calls: [BoundStatement]) throws(PostgreSQLError) {
        owed.append(try send(calls))
    }

    /// Takes the answers that nobody waited for.
    private func settle() throws(PostgreSQLError) {
        let owed = owed
        self.owed = []
        for steps in owed { _ = try receive(steps) }
    }

    private func send(_ calls: [BoundStatement]) throws(PostgreSQLError) -> [Step] {
        var steps: [Step] = []
        for call in calls {
            let statement = call.statement
            if prepared.insert(statement).inserted {
                let types = statement.kinds.map(\.rawValue)
                try unsafe check(
                    PQsendPrepare(
                        handle, statement.name, statement.sql, Int32(types.count), types))
                steps.append(.prepare(statement))
            }
            try send(call)
            steps.append(.call)
        }
        try unsafe check(PQpipelineSync(handle))
        try flush()
        return steps
    }

    private func send(_ call: BoundStatement) throws(PostgreSQLError) {
        let formats = [Int32](repeating: 1, count: call.counts.count)
        let lengths = call.counts.map { Int32($0) }
        // A parameter without bytes must not become null, which it would without an address.
        let bytes = call.bytes.isEmpty ? [0] : call.bytes
        let status = unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            var values: [UnsafePointer<CChar>?] = unsafe []
            for count in call.counts {
                unsafe values.append(
                    buffer.baseAddress.map {
                        unsafe ($0 + offset).assumingMemoryBound(to: CChar.self)
                    })
                offset += count
            }
            return unsafe PQsendQueryPrepared(
                handle, call.statement.name, Int32(values.count), values, lengths, formats, 1)
        }
        try check(status)
    }

    private func check(_ status: Int32) throws(PostgreSQLError) {
        guard status == 1 else { throw unsafe Self.failure(of: handle) }
    }

    private func flush() throws(PostgreSQLError) {
        while true {
            switch unsafe PQflush(handle) {
            case 0: return
            case 1:
                // The server may wait for its answers to be read before it reads more.
                if try wait(for: Int16(POLLIN | POLLOUT)) & Int16(POLLIN) != 0 { try consume() }
            default: throw unsafe Self.failure(of: handle)
            }
        }
    }

    private func consume() throws(PostgreSQLError) {
        guard unsafe PQconsumeInput(handle) == 1 else { throw unsafe Self.failure(of: handle) }
    }

    private func wait(for events: Int16) throws(PostgreSQLError) -> Int16 {
        while true {
            var descriptor = pollfd(fd: socket, events: events, revents: 0)
            let count = unsafe poll(&descriptor, 1, Self.silenceMillisecondsMax)
            if count > 0 { return descriptor.revents }
            if count < 0, errno == EINTR { continue }
            throw PostgreSQLError(.away, "The server does not answer.")
        }
    }

    // MARK: Answers

    private func receive(_ steps: [Step]) throws(PostgreSQLError) -> [Rows] {
        var answers: [Rows] = []
        var failure: PostgreSQLError?
        for step in steps {
            guard let result = try unsafe next() else { throw unsafe Self.failure(of: handle) }
            let rows = unsafe Rows(result)
            while let more = try unsafe next() { unsafe PQclear(more) }
            switch unsafe PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                if case .call = step { answers.append(rows) }
            default:
                if failure == nil { failure = unsafe Self.failure(of: handle, result) }
            }
            guard unsafe PQstatus(handle) == CONNECTION_OK else {
                throw unsafe failure ?? Self.failure(of: handle)
            }
        }
        guard let sync = try unsafe next() else { throw unsafe failure ?? Self.failure(of: handle) }
        let isSync = unsafe PQresultStatus(sync) == PGRES_PIPELINE_SYNC
        unsafe PQclear(sync)
        if let failure { throw failure }
        guard isSync else { throw unsafe Self.failure(of: handle) }
        return answers
    }

    /// The next result; nil after the last one of a statement.
    private func next() throws(PostgreSQLError) -> OpaquePointer? {
        while unsafe PQisBusy(handle) == 1 {
            _ = try wait(for: Int16(POLLIN))
            try consume()
        }
        return unsafe PQgetResult(handle)
    }

    /// What the server says of a statement, without the details, which have values of users.
    private static func failure(
        of handle: OpaquePointer, _ result: OpaquePointer
    ) -> PostgreSQLError {
        func field(_ name: Character) -> String? {
            unsafe PQresultErrorField(result, Int32(name.asciiValue ?? 0)).map {
                unsafe String(cString: $0)
            }
        }
        // PG_DIAG_SEVERITY_NONLOCALIZED: what is worse than an error ends the session, and says nothing of
        // a commit that was under way.
        let isLost = unsafe PQstatus(handle) != CONNECTION_OK || field("V") != "ERROR"
        // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
        guard let state = field("C"), let message = field("M") else {
            return unsafe failure(of: handle)
        }
        return PostgreSQLError(isLost ? .away : .refused, state: state, message)
    }

    // MARK: Notifications

    /// The texts of notifications that have come; reads what is there, and waits for nothing.
    func takeNotifications() throws(PostgreSQLError) -> [String] {
        try consume()
        var texts: [String] = []
        while let notification = unsafe PQnotifies(handle) {
            unsafe texts.append(String(cString: notification.pointee.extra))
            unsafe PQfreemem(notification)
        }
        return texts
    }
}
