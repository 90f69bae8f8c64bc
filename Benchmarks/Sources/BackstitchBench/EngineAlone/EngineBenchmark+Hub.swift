import Backstitch
import BenchmarkKit
import CloudKitRecordService
import Foundation
import PeerInterface

extension EngineBenchmark {
    private static let saves = 500
    private static let warmUps = 20
    private static let pause = Duration.milliseconds(10)

    /// Two devices and a hub in a process of its own, over HTTP: a first push and a first pull, and
    /// then the time from the call of a save on one to its delivery on the other.
    mutating func hub() async throws {
        guard let program = options.program else { return }
        // The first store makes the folder that all of it is in.
        let first = try open(.full, named: "first")
        defer { remove(first) }
        let hub = try HubUnderTest(program, folder: folder + "/hub")
        defer { hub.stop() }
        let second = try open(.full, named: "second")
        defer { remove(second) }
        let count = options.operations
        for part in Self.parts(0..<count) { try save(part, in: first) }
        let pusher = try engine(first, hub.service())
        let listener = try hub.service()
        let puller = engine(second, listener)
        let start = Moment()
        let pushed = try await pusher.sync()
        let middle = Moment()
        let pulled = try await puller.sync()
        let end = Moment()
        guard pushed.pushedRecords == count, pulled.pulledRecords == count,
            try second.read({ try $0.count(Contact.self) }) == count
        else { throw EngineFailure(description: "not every record went through the hub") }
        note("hub-push", Double(count) / (middle.wall - start.wall) * 1e9, "records/s")
        note("hub-pull", Double(count) / (end.wall - middle.wall) * 1e9, "records/s")
        note("hub-push-processor", (middle.processor - start.processor) / Double(count))
        note("hub-pull-processor", (end.processor - middle.processor) / Double(count))
        try await pusher.start()
        let delivered = try await deliver(from: first, to: second, puller, listener)
        await pusher.stop()
        await puller.stop()
        note("courier-p50", delivered.percentile(0.5))
        note("courier-p99", delivered.percentile(0.99))
    }

    private func engine(_ store: Store, _ service: CloudKitRecordService) -> SyncEngine {
        SyncEngine(
            store: store, service: service,
            configuration: SyncConfiguration(zoneName: "Bench", debounce: .zero))
    }

    /// The times of single saves, in nanoseconds.
    private func deliver(
        from first: Store, to second: Store, _ engine: SyncEngine,
        _ service: CloudKitRecordService
    ) async throws -> [Double] {
        let (listening, isListening) = AsyncStream.makeStream(of: Void.self)
        let following = Task {
            try await service.followChanges(
                sleep: { try await Task.sleep(for: .milliseconds($0)) },
                { _ in
                    _ = try? await engine.sync()
                    isListening.yield()
                })
        }
        defer { following.cancel() }
        for await _ in listening { break }
        var changes = second.changes().makeAsyncIterator()
        var delivered: [Double] = []
        for number in 0..<(Self.warmUps + Self.saves) {
            let saved = contact(options.operations + number)
            let start = peer_nanoseconds()
            try await first.write { tx in _ = try tx.save(saved) }
            while let change = await changes.next() {
                if change.inserted(Contact.self).contains(saved.id) { break }
            }
            if number >= Self.warmUps { delivered.append(Double(peer_nanoseconds() - start)) }
            try await Task.sleep(for: Self.pause)
        }
        return delivered
    }
}

/// A hub in a process of its own.
private final class HubUnderTest {
    private struct Document: Decodable {
        struct User: Decodable {
            let webAuthToken: String
        }

        let url: String
        let container: String
        let apiToken: String
        let users: [User]
    }

    private let process = Process()
    private let document: Document

    init(_ program: String, folder: String) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = [
            "hub", "--dev", "--user", "bench", "--listen", "127.0.0.1:0", "--data", folder,
        ]
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let part = output.fileHandleForReading.availableData
            guard !part.isEmpty else {
                throw EngineFailure(description: "\(program) runs no hub")
            }
            line.append(part)
        }
        document = try JSONDecoder().decode(Document.self, from: line)
    }

    /// A device's connection, with a courier of its own.
    func service() throws -> CloudKitRecordService {
        guard let url = URL(string: document.url) else { throw URLError(.badURL) }
        return try CloudKitRecordService(
            CloudKitConfiguration(
                url: url, container: document.container,
                credentials: .user(
                    apiToken: document.apiToken,
                    webAuthToken: WebAuthToken(document.users[0].webAuthToken))))
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// A time, and the processor time that this process had until then, in nanoseconds.
private struct Moment {
    let wall = Double(peer_nanoseconds())
    let processor: Double

    init() {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        processor = Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
