import Backstitch

/// The zone of the story's records.
enum DemoZone {
    static let name = "Catalog"
}

/// A device of the story.
protocol DemoDevice: AnyObject {
    var name: String { get }
    /// Its store.
    var path: String { get }
    /// Where it runs, for the story; nil in this process.
    var place: String? { get }

    /// Does what is asked.
    ///
    /// - Parameter progress: Called with the work that is done and the total; the total is 0 if it is
    ///   not known.
    func perform(
        _ order: DemoOrder, progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> DemoAnswer

    /// Pushes and dies on the way, then begins anew from its files.
    ///
    /// - Returns: What it knew at its end.
    func dieWhilePushing(requests: Int) async throws -> DemoAnswer.Waiting

    /// Lets go of its store.
    func end()
}

/// A device in this process.
final class LocalDemoDevice<Record: DemoRecord>: DemoDevice {
    /// What a device is left with after its end: nothing that it writes counts any more.
    private struct Killed: Error {}

    let name: String
    let path: String
    private let worker: DemoWorker<Record>

    var place: String? { nil }

    init(
        _ name: String, at path: String, data: DemoData<Record>, service: any RecordService
    ) throws {
        (self.name, self.path) = (name, path)
        worker = try DemoWorker(
            name, at: path, schema: data.schema, service: service, data: { data },
            die: { store throws(ServiceError) in
                store.setCommitFault { throw Killed() }
                throw ServiceError(.network, "the device is gone")
            })
    }

    func perform(
        _ order: DemoOrder, progress: @escaping @Sendable (_ done: Int, _ total: Int) -> Void
    ) async throws -> DemoAnswer {
        try await worker.perform(order, progress: progress)
    }

    func dieWhilePushing(requests: Int) async throws -> DemoAnswer.Waiting {
        let answer = try await worker.perform(.die(requests: requests)) { _, _ in }
        try worker.reopen()
        return answer.waiting
    }

    func end() { worker.close() }
}
