import Glibc
import Terminal

/// A device in a process of its own, which is told what to do through a pipe.
final class DemoDeviceProcess: DemoDevice {
    let name: String
    let path: String
    private let start: () throws -> ChildPipe
    private var child: ChildPipe

    var place: String? { "process \(child.id)" }

    /// Starts a device.
    init(_ name: String, at path: String, start: @escaping () throws -> ChildPipe) throws {
        (self.name, self.path, self.start) = (name, path, start)
        child = try start()
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
        child = try start()
        return answer.waiting
    }

    func end() {
        child.closeInput()
        _ = child.waitForEnd()
    }
}
