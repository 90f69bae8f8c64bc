/// A hub that this program started.
final class HubProcess {
    let document: HubDocument
    private let child: ChildPipe

    /// The number of the process.
    var id: Int32 { child.id }

    /// Starts a hub with one user, which keeps its records in a folder.
    init(folder: String) async throws {
        child = try ChildPipe([
            "hub", "--dev", "--user", "demo", "--listen", "127.0.0.1:0", "--data", folder,
        ])
        guard let line = await child.readLine(),
            let document = try? JSON.value(HubDocument.self, line)
        else {
            child.terminate()
            throw DemoFailure("The hub can't be started. Its messages are above.")
        }
        self.document = document
    }

    /// Asks the hub to end, and waits until it did.
    func stop() {
        child.terminate()
        child.waitForEnd()
    }
}
