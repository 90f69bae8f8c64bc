import Terminal

/// What a hub says of itself once it listens.
package struct StartedHub: Decodable {
    struct User: Decodable {
        let webAuthToken: String
    }

    package let url: String
    package let container: String
    package let environment: String
    package let apiToken: String
    let users: [User]

    /// The token of its user.
    package var webAuthToken: String {
        get throws {
            guard let user = users.first else { throw DemoFailure("The hub has no user.") }
            return user.webAuthToken
        }
    }
}

/// A hub that this program started.
final class HubProcess {
    let hub: StartedHub
    private let child: ChildPipe

    /// The number of the process.
    var id: Int32 { child.id }

    /// Starts a hub with one user, which keeps its records in a folder.
    init(folder: String) async throws {
        child = try ChildPipe([
            "hub", "--dev", "--user", "demo", "--listen", "127.0.0.1:0", "--data", folder,
        ])
        guard let line = await child.readLine(),
            let hub = try? JSON.value(StartedHub.self, line)
        else {
            child.terminate()
            throw DemoFailure("The hub can't be started. Its messages are above.")
        }
        self.hub = hub
    }

    /// Asks the hub to end, and waits until it did.
    func stop() {
        child.terminate()
        child.waitForEnd()
    }
}
