import BackstitchHub

/// What the hub tells of itself once it listens.
struct HubDocument: Codable {
    struct User: Codable {
        let name: String
        let userRecordName: String
        let webAuthToken: String

        init(_ user: HubAccounts.SignedInUser) {
            name = user.name
            userRecordName = user.userRecordName
            webAuthToken = user.webAuthToken
        }
    }

    let url: String
    /// Where the metrics are, if not there.
    let metricsURL: String?
    let container: String
    let environment: String
    let apiToken: String
    let users: [User]
}
