import BackstitchHubCore

/// Why something could not be done with a PostgreSQL server.
///
/// It has the server's own words without its details, which may have what users stored.
package struct PostgreSQLError: Error, CustomStringConvertible {
    /// What it means for who asked.
    package enum Kind: Hashable, Sendable {
        /// The server can't be reached, or the connection was cut.
        case away
        /// The server refused a statement.
        case refused
        /// Nobody knows whether a commit was made.
        case unknownOutcome
    }

    package let kind: Kind
    /// The five characters of SQLSTATE; empty if the server did not answer.
    package let state: String
    package let message: String

    package init(_ kind: Kind, state: String = "", _ message: String) {
        (self.kind, self.state, self.message) = (kind, state, message)
    }

    package var description: String {
        state.isEmpty
            ? "The database: \(message)" : "The database: \(message) (SQLSTATE \(state))"
    }

    /// Whether the same may succeed a little later: the connection was cut, or another transaction was in
    /// the way.
    package var mayPass: Bool {
        switch kind {
        case .away: true
        case .unknownOutcome: false
        case .refused:
            Self.passingStates.contains(state) || state.hasPrefix("08") || state.hasPrefix("57P")
        }
    }

    /// Whether others had locked what it needs, for too long.
    package var isAboutLocks: Bool { state == "55P03" }

    /// Serialization failure, deadlock, lock not available, query cancelled by its time limit, too many
    /// connections, transaction idle for too long.
    private static let passingStates: Set = ["40001", "40P01", "55P03", "57014", "53300", "25P03"]
}

extension PostgreSQLError: StorageFailure {
    package var isAboutSpace: Bool { state == "53100" }

    package var isPassing: Bool { mayPass || kind == .unknownOutcome }
}
