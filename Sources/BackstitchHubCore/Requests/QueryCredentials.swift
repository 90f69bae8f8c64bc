import BackstitchCore
import CloudKitWire

/// The credentials that the query of a call names, with the keys of what the storage has of them.
struct QueryCredentials: Sendable {
    /// The key of the environment of the container; nil if the container can't exist.
    let realm: HubKey?
    let apiToken: HubKey?
    let webToken: WebToken?
    let webTokenKey: HubKey?

    init(_ path: WirePath, _ target: RequestTarget) {
        realm =
            ServiceNames.isRecordName(path.container)
            ? RealmRow.key(container: path.container, environment: path.environment) : nil
        apiToken = target.query["ckAPIToken"].map { APITokenRow.key($0) }
        let text = target.query["ckWebAuthToken"] ?? target.query["ckSession"]
        // Clients often leave the plus signs of a token as they are, which then read as blanks.
        webToken = text.map { WebToken($0.replacing(" ", with: "+")) }
        webTokenKey = webToken.map { WebTokenRow.key($0.secret) }
    }
}
