import Foundation
import Glibc
import Terminal

/// What the audit log has of what whoever runs a hub did. Names and secrets are not in it: users are
/// known by their names in records.
struct AuditEntry: Encodable {
    enum Event: String, Encodable {
        case started
        case stopped
        case certificateReplaced
        case certificateRefused
        case tokenMade
        case userSignedIn
        case userMade
        case userChanged
        case userErased
        case keyAdded
        case credentialRevoked
        case credentialRelabelled
        case passwordChanged
        case codeMade
        case pagesChanged
        case containerMade
        case containerRenamed
        case containerErased
        case epochBegun
    }

    let log = "audit"
    let event: Event
    /// Milliseconds since 1970.
    let time: Int64
    /// The number of the user of this machine who did it.
    let uid: UInt32
    var container: String?
    var environment: String?
    /// The name in records.
    var user: String?

    init(
        _ event: Event, container: String? = nil, environment: String? = nil, user: String? = nil
    ) {
        self.event = event
        time = Int64(Date().timeIntervalSince1970 * 1_000)
        uid = getuid()
        (self.container, self.environment, self.user) = (container, environment, user)
    }

    var line: String { (try? JSON.line(self)) ?? "" }
}
