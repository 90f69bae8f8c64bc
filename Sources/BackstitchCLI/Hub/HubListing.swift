import BackstitchHub
import Foundation
import Terminal

/// What lists of a hub's users and credentials say.
enum HubListing {
    struct User: Encodable {
        let name: String
        let userRecordName: String
        let emailAddress: String?
        let discoverable: Bool
        let erased: Bool
        let container: String
        let environment: String

        init(_ user: HubAccounts.User, _ realm: HubAccounts.Realm) {
            (name, userRecordName) = (user.name, user.userRecordName)
            (emailAddress, discoverable) = (user.emailAddress, user.isDiscoverable)
            (container, environment) = (realm.container, realm.environment)
            erased = user.isErased
        }

        static func table(_ users: [User]) -> [String] {
            lines(
                ["NAME", "RECORD NAME", "E-MAIL", "DISCOVERABLE", "CONTAINER", "ENVIRONMENT"],
                users.map {
                    [
                        $0.name + ($0.erased ? " (being erased)" : ""), $0.userRecordName,
                        $0.emailAddress ?? "-", $0.discoverable ? "yes" : "no", $0.container,
                        $0.environment,
                    ]
                })
        }
    }

    struct Credential: Encodable {
        let id: String
        let label: String?
        let user: String?
        let userRecordName: String?
        let created: String?
        let used: String?
        let ends: String?
        let origins: [String]?
        let callback: String?
        let container: String
        let environment: String
        private let isSession: Bool

        private enum CodingKeys: CodingKey {
            case id, label, user, userRecordName, created, used, ends, origins
            case callback, container, environment
        }

        init(_ credential: HubAccounts.Credential) {
            id = credential.id
            isSession = credential.kind == .session
            label = isSession ? nil : credential.label
            (user, userRecordName) = (credential.userName, credential.userRecordName)
            created = HubListing.time(credential.created)
            used = HubListing.time(credential.used)
            ends = HubListing.time(credential.ends)
            origins = credential.kind == .apiToken ? credential.origins : nil
            callback = credential.callback
            (container, environment) = (
                credential.realm.container, credential.realm.environment
            )
        }

        static func table(_ credentials: [Credential]) -> [String] {
            guard credentials.first?.isSession == true else {
                return lines(
                    ["ID", "LABEL", "SIGN-IN FOR", "CONTAINER", "ENVIRONMENT"],
                    credentials.map {
                        [
                            $0.id, $0.label ?? "",
                            $0.callback ?? $0.origins?.joined(separator: " ") ?? "", $0.container,
                            $0.environment,
                        ]
                    })
            }
            return lines(
                ["ID", "USER", "BEGAN", "USED", "ENDS", "CONTAINER", "ENVIRONMENT"],
                credentials.map {
                    [
                        $0.id, $0.user ?? $0.userRecordName ?? "-", $0.created ?? "-",
                        $0.used ?? "not after its first days", $0.ends ?? "-", $0.container,
                        $0.environment,
                    ]
                })
        }
    }

    struct Container: Encodable {
        let container: String
        let environment: String

        init(_ realm: HubAccounts.Realm) {
            (container, environment) = (realm.container, realm.environment)
        }

        static func table(_ containers: [Container]) -> [String] {
            lines(
                ["CONTAINER", "ENVIRONMENT"], containers.map { [$0.container, $0.environment] })
        }
    }

    struct Erased: Encodable {
        let userRecordName: String?
        let sessions: Int
        let databases: Int
        let entries: Int

        init(_ erasure: HubAccounts.Erasure) {
            userRecordName = erasure.userRecordName.isEmpty ? nil : erasure.userRecordName
            (sessions, databases) = (erasure.sessions, erasure.databases)
            entries = erasure.entries
        }

        var text: String {
            "Erased \(databases.counted("database")) with \(entries.counted("entry", "entries")), "
                + "and ended \(sessions.counted("session"))."
        }
    }

    private static func time(_ milliseconds: Int64?) -> String? {
        milliseconds.map {
            Date(timeIntervalSince1970: Double($0 / 1_000)).formatted(.iso8601)
        }
    }

    /// A table with a head; nothing of what is empty.
    private static func lines(_ head: [String], _ rows: [[String]]) -> [String] {
        rows.isEmpty ? [] : Table.lines([head] + rows.map { $0.map(\.printable) })
    }
}
