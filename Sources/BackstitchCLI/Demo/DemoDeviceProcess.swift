import Glibc

/// A device in a process of its own, which is told what to do through a pipe.
final class DemoDeviceProcess: DemoDevice {
    let name: String
    let path: String
    private let hub: HubDocument
    private let input: DemoInput
    private var child: ChildPipe

    var place: String? { "process \(child.id)" }

    /// Starts a device that synchronises with a hub.
    init(_ name: String, at path: String, hub: HubDocument, input: DemoInput) throws {
        (self.name, self.path, self.hub, self.input) = (name, path, hub, input)
        child = try Self.start(name, path, hub, input)
    }

    private static func start(
        _ name: String, _ path: String, _ hub: HubDocument, _ input: DemoInput
    ) throws -> ChildPipe {
        guard let user = hub.users.first else { throw DemoFailure("The hub has no user.") }
        return try ChildPipe(
            [DemoDeviceCommand.commandName, path]
                + DemoDeviceCommand.arguments(name: name, input)
                + [
                    "--url", hub.url, "--container", hub.container,
                    "--environment", hub.environment,
                ],
            // So that no list of processes shows them.
            variables: [
                ServiceOptions.apiTokenVariable: hub.apiToken,
                ServiceOptions.webTokenVariable: user.webAuthToken,
            ])
    }

    func perform(
        _ order: DemoOrder, progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> DemoAnswer {
        try child.write(try JSON.line(order))
        while let line = await child.readLine() {
            switch try JSON.value(DemoMessage.self, line) {
            case .progress(let done, let total): progress(done, total)
            case .answer(let answer): return answer
            case .failure(let reason):
                throw DemoFailure("Device \(name): \(reason)")
            }
        }
        throw DemoFailure("The process of device \(name) ended.")
    }

    func dieWhilePushing(requests: Int) async throws -> DemoAnswer.Waiting {
        let answer = try await perform(.die(requests: requests)) { _, _ in }
        guard child.waitForEnd() == SIGKILL else {
            throw DemoFailure("The process of device \(name) was to be killed.")
        }
        child = try Self.start(name, path, hub, input)
        return answer.waiting
    }

    func end() {
        child.closeInput()
        _ = child.waitForEnd()
    }
}
